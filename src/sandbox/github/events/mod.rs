//! Real-looking events of many types, the same ones from the same seed.

mod cast;
mod subjects;

use bytes::Bytes;
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Map, Value, json};

use self::cast::Cast;

/// What happened, as GitHub tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The value of `X-GitHub-Event`.
    pub name: String,
    /// The payload's `action`; `None` for events without one.
    pub action: Option<String>,
    /// The App installation it belongs to.
    pub installation_id: Option<i64>,
    /// The repository it is about.
    pub repository_id: Option<i64>,
    /// The JSON that is sent.
    pub payload: Bytes,
}

/// Every event with its actions, and how often it comes up among a hundred or so.
const KINDS: &[(&str, &[&str], u32)] = &[
    ("push", &[], 14),
    ("pull_request", &["opened", "synchronize", "closed", "labeled", "review_requested"], 10),
    ("pull_request_review", &["submitted", "dismissed"], 4),
    ("pull_request_review_comment", &["created"], 3),
    ("issues", &["opened", "closed", "edited", "labeled", "assigned"], 7),
    ("issue_comment", &["created", "edited"], 7),
    ("check_run", &["created", "completed"], 12),
    ("check_suite", &["requested", "completed"], 7),
    ("workflow_run", &["requested", "in_progress", "completed"], 7),
    ("workflow_job", &["queued", "in_progress", "completed"], 15),
    ("status", &[], 4),
    ("create", &[], 3),
    ("delete", &[], 2),
    ("release", &["published", "edited"], 1),
    ("deployment", &["created"], 1),
    ("deployment_status", &["created"], 1),
    ("star", &["created", "deleted"], 2),
    ("fork", &[], 1),
    ("member", &["added"], 1),
    ("label", &["created", "edited"], 1),
    ("milestone", &["created", "closed"], 1),
    ("repository", &["edited", "archived"], 1),
    ("installation", &["created", "suspend"], 1),
    ("installation_repositories", &["added", "removed"], 1),
    ("ping", &[], 0),
];

/// The names of the events an App can subscribe to.
#[must_use]
pub fn names() -> Vec<&'static str> {
    KINDS.iter().map(|(name, _, _)| *name).filter(|n| !always_sent(n)).collect()
}

/// Events that go to every App, or to the hook itself, without a subscription.
fn always_sent(name: &str) -> bool {
    matches!(name, "installation" | "installation_repositories" | "ping")
}

/// Makes events.
#[derive(Debug)]
pub struct Generator {
    rng: StdRng,
}

impl Generator {
    /// A generator that makes the same events for the same seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { rng: StdRng::seed_from_u64(seed) }
    }

    /// An event of any type but `ping`, in the proportions of a busy organisation.
    pub fn any(&mut self) -> Event {
        let total: u32 = KINDS.iter().map(|(_, _, weight)| weight).sum();
        let mut ticket = self.rng.random_range(0..total);
        for (name, actions, weight) in KINDS {
            if ticket < *weight {
                let action = actions.choose(&mut self.rng).copied();
                return self.make(name, action);
            }
            ticket -= weight;
        }
        self.make("push", None)
    }

    /// An event of this name, and of this action or any. `None` for a name or action that is not
    /// known here.
    pub fn of(&mut self, name: &str, action: Option<&str>) -> Option<Event> {
        let (name, actions, _) = KINDS.iter().find(|(known, _, _)| *known == name)?;
        let action = match action {
            Some(action) => Some(*actions.iter().find(|known| **known == action)?),
            None => actions.choose(&mut self.rng).copied(),
        };
        Some(self.make(name, action))
    }

    fn make(&mut self, name: &str, action: Option<&str>) -> Event {
        let cast = Cast::draw(&mut self.rng);
        let mut payload = Map::new();
        if let Some(action) = action {
            payload.insert("action".to_owned(), json!(action));
        }
        subjects::fill(name, action, &cast, &mut self.rng, &mut payload);
        let about_repository = !always_sent(name);
        if about_repository {
            payload.insert("repository".to_owned(), cast.repository());
        }
        let installed = name != "ping";
        if installed {
            payload.entry("installation").or_insert_with(|| cast.installation_stub());
            payload.insert("organization".to_owned(), cast.organization());
            payload.insert("sender".to_owned(), cast.sender());
        }
        Event {
            name: name.to_owned(),
            action: action.map(str::to_owned),
            installation_id: installed.then_some(cast.installation_id),
            repository_id: about_repository.then_some(cast.repository_id),
            payload: Bytes::from(Value::Object(payload).to_string()),
        }
    }
}
