//! What each event is about: the objects besides repository, organisation and sender.

use rand::{Rng, rngs::StdRng};
use serde_json::{Map, Value, json};

use super::cast::{Cast, node, person, prose, sha, user};

/// Puts the event's own objects into `payload`.
pub(super) fn fill(
    name: &str,
    action: Option<&str>,
    cast: &Cast,
    rng: &mut StdRng,
    payload: &mut Map<String, Value>,
) {
    let fields = match name {
        "push" => push(cast, rng),
        "pull_request" => json!({ "number": 7, "pull_request": pull_request(cast, rng) }),
        "pull_request_review" => json!({
            "review": comment(cast, rng), "pull_request": pull_request(cast, rng),
        }),
        "pull_request_review_comment" => json!({
            "comment": comment(cast, rng), "pull_request": pull_request(cast, rng),
        }),
        "issues" => json!({ "issue": issue(cast, rng) }),
        "issue_comment" => json!({ "issue": issue(cast, rng), "comment": comment(cast, rng) }),
        "check_run" => json!({ "check_run": check_run(cast, rng, action) }),
        "check_suite" => json!({ "check_suite": check_suite(cast, rng, action) }),
        "workflow_run" => json!({
            "workflow_run": workflow_run(cast, rng, action), "workflow": workflow(cast),
        }),
        "workflow_job" => json!({ "workflow_job": workflow_job(cast, rng, action) }),
        "status" => status(cast, rng),
        "create" | "delete" => json!({
            "ref": format!("topic/{}", rng.random_range(1..500)), "ref_type": "branch",
            "master_branch": "main", "description": null, "pusher_type": "user",
        }),
        "release" => json!({ "release": release(cast, rng) }),
        "deployment" => json!({ "deployment": deployment(cast, rng), "workflow": null }),
        "deployment_status" => json!({
            "deployment": deployment(cast, rng),
            "deployment_status": {"id": number(rng), "state": "success", "environment": "production",
                                  "creator": cast.sender(), "description": prose(rng, 6)},
        }),
        "star" => json!({ "starred_at": stamp(rng) }),
        "fork" => json!({ "forkee": cast.repository() }),
        "member" => {
            json!({ "member": user(person(rng)), "changes": {"role_name": {"to": "write"}} })
        }
        "label" => json!({ "label": label(cast, rng) }),
        "milestone" => json!({ "milestone": milestone(cast, rng) }),
        "repository" => json!({ "changes": {"description": {"from": prose(rng, 5)}} }),
        "installation" => json!({
            "installation": cast.installation(), "repositories": [cast.repository_stub()],
            "requester": null,
        }),
        "installation_repositories" => json!({
            "installation": cast.installation(), "repository_selection": "selected",
            "repositories_added": [cast.repository_stub()], "repositories_removed": [],
            "requester": null,
        }),
        _ => ping(rng),
    };
    if let Value::Object(fields) = fields {
        payload.extend(fields);
    }
}

fn number(rng: &mut StdRng) -> i64 {
    rng.random_range(1_000_000_000..99_000_000_000)
}

fn stamp(rng: &mut StdRng) -> String {
    format!(
        "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        rng.random_range(1..=11),
        rng.random_range(1..=28),
        rng.random_range(0..24),
        rng.random_range(0..60),
        rng.random_range(0..60)
    )
}

fn push(cast: &Cast, rng: &mut StdRng) -> Value {
    let count = rng.random_range(1..=12);
    let commits: Vec<Value> = (0..count).map(|_| commit(cast, rng)).collect();
    let (before, after) = (sha(rng), sha(rng));
    json!({
        "ref": "refs/heads/main", "before": before, "after": after, "base_ref": null,
        "created": false, "deleted": false, "forced": false,
        "pusher": {"name": "amelia-voss", "email": "amelia@example.com"},
        "compare": format!("{}/compare/{before}...{after}", cast.html()),
        "head_commit": commits.last(), "commits": commits,
    })
}

fn commit(cast: &Cast, rng: &mut StdRng) -> Value {
    let id = sha(rng);
    let author = person(rng);
    let who =
        json!({ "name": author, "email": format!("{author}@example.com"), "username": author });
    let files: Vec<String> = (0..rng.random_range(1..6))
        .map(|_| format!("src/{}/part_{}.rs", rng.random_range(1..30), rng.random_range(1..99)))
        .collect();
    json!({
        "id": id, "tree_id": sha(rng), "distinct": true,
        "message": format!("{}\n\n{}", prose(rng, 5), prose(rng, 25)),
        "timestamp": stamp(rng), "url": format!("{}/commit/{id}", cast.html()),
        "author": who, "committer": who, "added": [], "removed": [], "modified": files,
    })
}

fn pull_request(cast: &Cast, rng: &mut StdRng) -> Value {
    let n = rng.random_range(1..4000);
    let url = format!("{}/pulls/{n}", cast.api());
    let id = number(rng);
    let author = user(person(rng));
    let side = |name: &str, sha: String| {
        json!({ "label": format!("{}:{name}", cast.full_name()), "ref": name, "sha": sha,
                "user": author, "repo": cast.repository() })
    };
    let (head, base) = (side("topic/retry", sha(rng)), side("main", sha(rng)));
    json!({
        "id": id, "node_id": node("PR_kwDO", id), "number": n, "state": "open", "locked": false,
        "url": url, "html_url": format!("{}/pull/{n}", cast.html()),
        "diff_url": format!("{}/pull/{n}.diff", cast.html()), "issue_url": format!("{}/issues/{n}", cast.api()),
        "commits_url": format!("{url}/commits"), "comments_url": format!("{}/issues/{n}/comments", cast.api()),
        "statuses_url": format!("{}/statuses/{}", cast.api(), sha(rng)),
        "title": prose(rng, 7), "body": prose(rng, 60), "user": author, "draft": false,
        "created_at": stamp(rng), "updated_at": stamp(rng), "closed_at": null, "merged_at": null,
        "merge_commit_sha": sha(rng), "assignee": null, "assignees": [], "milestone": null,
        "requested_reviewers": [user(person(rng))], "requested_teams": [], "labels": [label(cast, rng)],
        "head": head, "base": base, "author_association": "MEMBER", "auto_merge": null,
        "merged": false, "mergeable": null, "rebaseable": null, "mergeable_state": "unknown",
        "comments": 2, "review_comments": 1, "commits": 3, "additions": 140, "deletions": 22,
        "changed_files": 6,
    })
}

fn issue(cast: &Cast, rng: &mut StdRng) -> Value {
    let n = rng.random_range(1..4000);
    let id = number(rng);
    json!({
        "id": id, "node_id": node("I_kwDO", id), "number": n, "title": prose(rng, 8),
        "url": format!("{}/issues/{n}", cast.api()), "html_url": format!("{}/issues/{n}", cast.html()),
        "repository_url": cast.api(), "user": user(person(rng)), "labels": [label(cast, rng)],
        "state": "open", "state_reason": null, "locked": false, "assignee": user(person(rng)),
        "assignees": [], "milestone": milestone(cast, rng), "comments": 3,
        "created_at": stamp(rng), "updated_at": stamp(rng), "closed_at": null,
        "author_association": "CONTRIBUTOR", "body": prose(rng, 90),
        "reactions": {"total_count": 1, "+1": 1, "-1": 0, "laugh": 0, "hooray": 0},
    })
}

fn comment(cast: &Cast, rng: &mut StdRng) -> Value {
    let id = number(rng);
    json!({
        "id": id, "node_id": node("IC_kwDO", id), "user": user(person(rng)), "body": prose(rng, 40),
        "html_url": format!("{}/issues/1#issuecomment-{id}", cast.html()), "state": "commented",
        "created_at": stamp(rng), "updated_at": stamp(rng), "author_association": "MEMBER",
    })
}

fn label(cast: &Cast, rng: &mut StdRng) -> Value {
    let id = number(rng);
    json!({ "id": id, "node_id": node("LA_kwDO", id), "url": format!("{}/labels/bug", cast.api()),
            "name": "bug", "color": "d73a4a", "default": true, "description": prose(rng, 4) })
}

fn milestone(cast: &Cast, rng: &mut StdRng) -> Value {
    let n = rng.random_range(1..40);
    json!({ "id": number(rng), "number": n, "url": format!("{}/milestones/{n}", cast.api()),
            "title": format!("Sprint {n}"), "description": prose(rng, 10), "creator": cast.sender(),
            "open_issues": 8, "closed_issues": 21, "state": "open", "due_on": null })
}

fn progress(action: Option<&str>) -> (&'static str, Value) {
    match action {
        Some("completed") => ("completed", json!("success")),
        Some("in_progress") => ("in_progress", Value::Null),
        _ => ("queued", Value::Null),
    }
}

fn check_run(cast: &Cast, rng: &mut StdRng, action: Option<&str>) -> Value {
    let (status, conclusion) = progress(action);
    let id = number(rng);
    json!({
        "id": id, "node_id": node("CR_kwDO", id), "head_sha": sha(rng), "external_id": "",
        "url": format!("{}/check-runs/{id}", cast.api()), "name": "unit tests",
        "html_url": format!("{}/actions/runs/{id}", cast.html()), "status": status,
        "conclusion": conclusion, "started_at": stamp(rng), "completed_at": null,
        "output": {"title": null, "summary": prose(rng, 12), "annotations_count": 0},
        "check_suite": check_suite(cast, rng, action), "pull_requests": [],
    })
}

fn check_suite(cast: &Cast, rng: &mut StdRng, action: Option<&str>) -> Value {
    let (status, conclusion) = progress(action);
    let id = number(rng);
    json!({
        "id": id, "node_id": node("CS_kwDO", id), "head_branch": "main", "head_sha": sha(rng),
        "status": status, "conclusion": conclusion, "before": sha(rng), "after": sha(rng),
        "url": format!("{}/check-suites/{id}", cast.api()), "pull_requests": [],
        "created_at": stamp(rng), "updated_at": stamp(rng), "rerequestable": true,
        "latest_check_runs_count": 4, "head_commit": commit(cast, rng),
        "app": {"id": 15368, "slug": "github-actions", "name": "GitHub Actions"},
    })
}

fn workflow(cast: &Cast) -> Value {
    json!({ "id": 91_442_817, "name": "CI", "path": ".github/workflows/ci.yml", "state": "active",
            "url": format!("{}/actions/workflows/91442817", cast.api()) })
}

fn workflow_run(cast: &Cast, rng: &mut StdRng, action: Option<&str>) -> Value {
    let (status, conclusion) = progress(action);
    let id = number(rng);
    json!({
        "id": id, "name": "CI", "node_id": node("WFR_kwLO", id), "head_branch": "main",
        "head_sha": sha(rng), "path": ".github/workflows/ci.yml", "display_title": prose(rng, 6),
        "run_number": rng.random_range(1..9000), "run_attempt": 1, "event": "push", "status": status,
        "conclusion": conclusion, "workflow_id": 91_442_817, "check_suite_id": number(rng),
        "url": format!("{}/actions/runs/{id}", cast.api()), "pull_requests": [],
        "created_at": stamp(rng), "updated_at": stamp(rng), "actor": cast.sender(),
        "triggering_actor": cast.sender(), "head_commit": commit(cast, rng),
        "repository": cast.repository(), "head_repository": cast.repository(),
    })
}

fn workflow_job(cast: &Cast, rng: &mut StdRng, action: Option<&str>) -> Value {
    let (status, conclusion) = progress(action);
    let (id, run) = (number(rng), number(rng));
    let steps: Vec<Value> = ["Set up job", "Check out", "Build", "Test", "Complete job"]
        .iter()
        .zip(1..)
        .map(|(name, n)| json!({ "name": name, "status": status, "conclusion": conclusion, "number": n }))
        .collect();
    json!({
        "id": id, "run_id": run, "workflow_name": "CI", "head_branch": "main",
        "run_url": format!("{}/actions/runs/{run}", cast.api()), "run_attempt": 1,
        "node_id": node("CR_kwDO", id), "head_sha": sha(rng), "status": status,
        "url": format!("{}/actions/jobs/{id}", cast.api()), "conclusion": conclusion,
        "created_at": stamp(rng), "started_at": stamp(rng), "completed_at": null, "name": "build (linux)",
        "steps": if status == "queued" { json!([]) } else { json!(steps) },
        "labels": ["self-hosted", "linux", "x64"], "runner_id": null, "runner_name": null,
        "runner_group_id": null, "runner_group_name": null,
    })
}

fn status(cast: &Cast, rng: &mut StdRng) -> Value {
    let sha = sha(rng);
    json!({
        "id": number(rng), "sha": sha, "name": cast.full_name(), "target_url": null,
        "context": "ci/coverage", "description": prose(rng, 5), "state": "success",
        "commit": commit(cast, rng), "branches": [{"name": "main", "protected": true}],
        "created_at": stamp(rng), "updated_at": stamp(rng),
    })
}

fn release(cast: &Cast, rng: &mut StdRng) -> Value {
    let id = number(rng);
    let tag = format!("v1.{}.0", rng.random_range(0..60));
    json!({
        "id": id, "node_id": node("RE_kwDO", id), "url": format!("{}/releases/{id}", cast.api()),
        "html_url": format!("{}/releases/tag/{tag}", cast.html()), "tag_name": tag, "name": tag,
        "target_commitish": "main", "draft": false, "prerelease": false, "author": cast.sender(),
        "created_at": stamp(rng), "published_at": stamp(rng), "assets": [], "body": prose(rng, 120),
    })
}

fn deployment(cast: &Cast, rng: &mut StdRng) -> Value {
    let id = number(rng);
    json!({
        "id": id, "node_id": node("DE_kwDO", id), "url": format!("{}/deployments/{id}", cast.api()),
        "sha": sha(rng), "ref": "main", "task": "deploy", "payload": {}, "environment": "production",
        "description": null, "creator": cast.sender(), "created_at": stamp(rng),
        "updated_at": stamp(rng),
    })
}

fn ping(rng: &mut StdRng) -> Value {
    json!({
        "zen": "Write it down before you answer.", "hook_id": number(rng),
        "hook": {"type": "App", "id": number(rng), "name": "web", "active": true, "app_id": 4242,
                 "events": ["push"], "config": {"content_type": "json", "insecure_ssl": "0"}},
    })
}
