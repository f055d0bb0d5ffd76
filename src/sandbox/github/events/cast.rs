//! Who and where: organisations, repositories, people and the objects that describe them.

use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Map, Value, json};

const ORGANIZATIONS: &[&str] = &["northwind-labs", "kestrel-systems", "blue-harbor"];
const REPOSITORIES: &[(&str, &str, &str)] = &[
    ("checkout", "Takes payments and issues receipts", "Rust"),
    ("web-portal", "The customer portal", "TypeScript"),
    ("fleet-agent", "Runs on every machine we own", "Go"),
    ("data-pipeline", "Nightly imports and reports", "Python"),
    ("design-tokens", "Colours, spacing, type", "CSS"),
    ("infra", "Everything that is deployed, as code", "HCL"),
    ("mobile-app", "The app for iOS and Android", "Kotlin"),
    ("docs", "Guides and reference", "MDX"),
];
const PEOPLE: &[&str] =
    &["amelia-voss", "tkowalski", "priya-n", "jonas-lindqvist", "m-okafor", "renovator[bot]"];
const WORDS: &[&str] = &[
    "retry",
    "queue",
    "handle",
    "timeout",
    "parser",
    "cache",
    "the",
    "for",
    "empty",
    "window",
    "add",
    "remove",
    "test",
    "when",
    "a",
    "page",
    "is",
    "lost",
    "webhook",
    "naïve",
    "größer",
    "日本語",
    "fix",
    "flaky",
    "build",
    "🚀",
    "docs",
    "of",
    "config",
    "log",
];

/// The people and places of one event.
#[derive(Debug)]
pub(super) struct Cast {
    organization: &'static str,
    organization_id: i64,
    repository: &'static str,
    description: &'static str,
    language: &'static str,
    sender: &'static str,
    pub(super) installation_id: i64,
    pub(super) repository_id: i64,
}

impl Cast {
    /// Draws one. The same organisation and repository always have the same ids.
    pub(super) fn draw(rng: &mut StdRng) -> Self {
        let organization = ORGANIZATIONS.choose(rng).copied().unwrap_or("northwind-labs");
        let (repository, description, language) =
            REPOSITORIES.choose(rng).copied().unwrap_or(("docs", "", "MDX"));
        Self {
            organization,
            organization_id: 50_000_000 + stable(organization) % 1_000_000,
            repository,
            description,
            language,
            sender: person(rng),
            installation_id: 60_000_000 + stable(organization) % 1_000_000,
            repository_id: 700_000_000
                + stable(organization) % 1_000 * 1_000
                + stable(repository) % 1_000,
        }
    }

    /// `owner/name`.
    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.organization, self.repository)
    }

    /// The API URL of the repository, without trailing slash.
    pub(super) fn api(&self) -> String {
        format!("https://api.github.com/repos/{}", self.full_name())
    }

    /// The web URL of the repository.
    pub(super) fn html(&self) -> String {
        format!("https://github.com/{}", self.full_name())
    }

    /// The account that did it.
    pub(super) fn sender(&self) -> Value {
        user(self.sender)
    }

    /// What most payloads say of the installation.
    pub(super) fn installation_stub(&self) -> Value {
        json!({ "id": self.installation_id, "node_id": node("MDIzOkludGVn", self.installation_id) })
    }

    /// The installation in full, as in its own events.
    pub(super) fn installation(&self) -> Value {
        let id = self.installation_id;
        json!({
            "id": id,
            "account": user(self.organization),
            "repository_selection": "selected",
            "access_tokens_url": format!("https://api.github.com/app/installations/{id}/access_tokens"),
            "repositories_url": "https://api.github.com/installation/repositories",
            "html_url": format!("https://github.com/organizations/{}/settings/installations/{id}", self.organization),
            "app_id": 4242, "app_slug": "sandbox", "target_id": self.organization_id,
            "target_type": "Organization",
            "permissions": {"checks": "write", "contents": "read", "metadata": "read", "pull_requests": "write"},
            "events": ["check_run", "check_suite", "push", "pull_request", "workflow_job"],
            "created_at": "2025-03-04T08:15:30.000Z", "updated_at": "2026-02-11T17:42:05.000Z",
            "single_file_name": null, "has_multiple_single_files": false, "single_file_paths": [],
            "suspended_by": null, "suspended_at": null,
        })
    }

    /// The short form of a repository that installation events list.
    pub(super) fn repository_stub(&self) -> Value {
        json!({
            "id": self.repository_id, "node_id": node("R_kgDO", self.repository_id),
            "name": self.repository, "full_name": self.full_name(), "private": true,
        })
    }

    /// The organisation.
    pub(super) fn organization(&self) -> Value {
        let login = self.organization;
        let url = format!("https://api.github.com/orgs/{login}");
        json!({
            "login": login, "id": self.organization_id, "node_id": node("O_kgDO", self.organization_id),
            "url": url, "repos_url": format!("{url}/repos"), "events_url": format!("{url}/events"),
            "hooks_url": format!("{url}/hooks"), "issues_url": format!("{url}/issues"),
            "members_url": format!("{url}/members{{/member}}"),
            "public_members_url": format!("{url}/public_members{{/member}}"),
            "avatar_url": format!("https://avatars.githubusercontent.com/u/{}?v=4", self.organization_id),
            "description": "A made-up organisation",
        })
    }

    /// The repository in full, with its long tail of URLs.
    pub(super) fn repository(&self) -> Value {
        const TAILS: &[(&str, &str)] = &[
            ("archive_url", "/{archive_format}{/ref}"),
            ("assignees_url", "/assignees{/user}"),
            ("blobs_url", "/git/blobs{/sha}"),
            ("branches_url", "/branches{/branch}"),
            ("collaborators_url", "/collaborators{/collaborator}"),
            ("comments_url", "/comments{/number}"),
            ("commits_url", "/commits{/sha}"),
            ("compare_url", "/compare/{base}...{head}"),
            ("contents_url", "/contents/{+path}"),
            ("contributors_url", "/contributors"),
            ("deployments_url", "/deployments"),
            ("downloads_url", "/downloads"),
            ("events_url", "/events"),
            ("forks_url", "/forks"),
            ("git_commits_url", "/git/commits{/sha}"),
            ("git_refs_url", "/git/refs{/sha}"),
            ("git_tags_url", "/git/tags{/sha}"),
            ("hooks_url", "/hooks"),
            ("issue_comment_url", "/issues/comments{/number}"),
            ("issue_events_url", "/issues/events{/number}"),
            ("issues_url", "/issues{/number}"),
            ("keys_url", "/keys{/key_id}"),
            ("labels_url", "/labels{/name}"),
            ("languages_url", "/languages"),
            ("merges_url", "/merges"),
            ("milestones_url", "/milestones{/number}"),
            ("notifications_url", "/notifications{?since,all,participating}"),
            ("pulls_url", "/pulls{/number}"),
            ("releases_url", "/releases{/id}"),
            ("stargazers_url", "/stargazers"),
            ("statuses_url", "/statuses/{sha}"),
            ("subscribers_url", "/subscribers"),
            ("subscription_url", "/subscription"),
            ("tags_url", "/tags"),
            ("teams_url", "/teams"),
            ("trees_url", "/git/trees{/sha}"),
        ];
        let (api, html) = (self.api(), self.html());
        let mut fields: Map<String, Value> = TAILS
            .iter()
            .map(|(name, tail)| ((*name).to_owned(), json!(format!("{api}{tail}"))))
            .collect();
        let plain = json!({
        "id": self.repository_id, "node_id": node("R_kgDO", self.repository_id),
        "name": self.repository, "full_name": self.full_name(), "private": true,
        "owner": user(self.organization), "html_url": html, "description": self.description,
        "fork": false, "url": api, "git_url": format!("git://github.com/{}.git", self.full_name()),
        "ssh_url": format!("git@github.com:{}.git", self.full_name()),
        "clone_url": format!("{html}.git"), "svn_url": html, "homepage": null,
        });
        let more = json!({
            "created_at": "2023-05-02T11:20:00Z", "updated_at": "2026-10-30T06:01:44Z",
            "pushed_at": "2026-11-02T14:25:31Z", "size": 48_213, "stargazers_count": 12,
            "watchers_count": 12, "language": self.language, "has_issues": true, "has_projects": true,
            "has_downloads": true, "has_wiki": false, "has_pages": false, "has_discussions": false,
            "forks_count": 2, "mirror_url": null, "archived": false, "disabled": false,
            "open_issues_count": 31, "license": null, "allow_forking": true, "is_template": false,
            "web_commit_signoff_required": false, "topics": ["internal"], "visibility": "private",
            "forks": 2, "open_issues": 31, "watchers": 12, "default_branch": "main",
            "custom_properties": {"tier": "2"},
        });
        for part in [plain, more] {
            if let Value::Object(part) = part {
                fields.extend(part);
            }
        }
        Value::Object(fields)
    }
}

/// Somebody.
pub(super) fn person(rng: &mut StdRng) -> &'static str {
    PEOPLE.choose(rng).copied().unwrap_or("amelia-voss")
}

/// An account object.
pub(super) fn user(login: &str) -> Value {
    let id = 10_000_000 + stable(login) % 10_000_000;
    let api = format!("https://api.github.com/users/{login}");
    let kind = if login.ends_with("[bot]") {
        "Bot"
    } else if ORGANIZATIONS.contains(&login) {
        "Organization"
    } else {
        "User"
    };
    json!({
        "login": login, "id": id, "node_id": node("U_kgDO", id), "gravatar_id": "",
        "avatar_url": format!("https://avatars.githubusercontent.com/u/{id}?v=4"),
        "url": api, "html_url": format!("https://github.com/{login}"),
        "followers_url": format!("{api}/followers"),
        "following_url": format!("{api}/following{{/other_user}}"),
        "gists_url": format!("{api}/gists{{/gist_id}}"),
        "starred_url": format!("{api}/starred{{/owner}}{{/repo}}"),
        "subscriptions_url": format!("{api}/subscriptions"),
        "organizations_url": format!("{api}/orgs"), "repos_url": format!("{api}/repos"),
        "events_url": format!("{api}/events{{/privacy}}"),
        "received_events_url": format!("{api}/received_events"),
        "type": kind, "user_view_type": "public", "site_admin": false,
    })
}

/// A commit id.
pub(super) fn sha(rng: &mut StdRng) -> String {
    hex::encode(rng.random::<[u8; 20]>())
}

/// Some words that mean little, not all of them ASCII.
pub(super) fn prose(rng: &mut StdRng, words: usize) -> String {
    let words: Vec<&str> = (0..words).filter_map(|_| WORDS.choose(rng).copied()).collect();
    words.join(" ")
}

/// A node id.
pub(super) fn node(prefix: &str, id: i64) -> String {
    format!("{prefix}{id:x}")
}

/// A number that depends on the text alone.
fn stable(text: &str) -> i64 {
    text.bytes().fold(7_i64, |sum, byte| (sum * 31 + i64::from(byte)) % 1_000_000_007)
}
