//! All that is known of one (hook, GUID): attempts, receipt, redeliveries, and what an operator said.

use chrono::{DateTime, TimeDelta, Utc};

use super::{
    attempt::Attempt,
    ids::{AttemptId, EventName, Guid},
    later,
};

/// Everything known of one event on one hook; the facts that [`super::verdict::judge`] judges.
/// The order of `attempts` and `redeliveries` has no meaning.
#[derive(Debug, Clone, PartialEq)]
pub struct Delivery {
    /// The key, together with the hook.
    pub guid: Guid,
    /// What happened.
    pub event: EventName,
    /// The event's action; `None` for events without one.
    pub action: Option<String>,
    /// `None` when GitHub's list says null.
    pub installation_id: Option<i64>,
    /// `None` when GitHub's list says null.
    pub repository_id: Option<i64>,
    /// The rows of GitHub's list; empty when only a receipt is known.
    pub attempts: Vec<Attempt>,
    /// What we asked GitHub for, oldest or newest first.
    pub redeliveries: Vec<Redelivery>,
    /// Our proof of arrival; `None` means that no verified POST arrived.
    pub receipt: Option<Receipt>,
    /// Whether an operator took it out of missing.
    pub dismissed: bool,
    /// Whether an operator asked for it although it is older than the adoption of its hook.
    pub asked_by_hand: bool,
}

/// Our durable proof that a verified request with this GUID arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// When the first arrival was committed, on our clock.
    pub received_at: DateTime<Utc>,
    /// How it came.
    pub via: Via,
}

/// How an event reached us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Via {
    /// GitHub's own first attempt.
    Delivery,
    /// An attempt that we, or somebody, asked for.
    Redelivery,
    /// Read through the API.
    Api,
}

/// One request of ours for one more attempt, committed before it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redelivery {
    /// 1 for the first request of this delivery.
    pub nth: u32,
    /// What was asked.
    pub means: Means,
    /// The newest attempt known when we asked, which is also the one we asked to repeat.
    pub attempt: AttemptId,
    /// When the intent was committed, on our clock.
    pub asked_at: DateTime<Utc>,
    /// What became of the request.
    pub outcome: Outcome,
    /// Made as a probe of an endpoint judged down: not counted against the cap, nor for backoff.
    pub probe: bool,
}

/// How a delivery is repaired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Means {
    /// Ask GitHub to send it again.
    Redeliver,
    /// Read headers and payload through the API.
    Fetch,
}

/// What became of one request. `Intended` left behind by a crash counts as `Ambiguous`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Committed, not concluded: the request may or may not have left.
    Intended,
    /// GitHub took it: 202, 200 or 204. That is not arrival.
    Accepted,
    /// GitHub said that the attempt is gone or unknown: 404, 410, 422.
    Gone,
    /// GitHub refused it for another reason (400 and other 4xx).
    Refused,
    /// Sent, no usable answer (time-out, reset, 5xx): counts as asked; the next listing settles it.
    Ambiguous,
    /// Not done because of a limit or lost authorisation: counts as never asked.
    Deferred,
}

impl Delivery {
    /// The newest attempt by GitHub's time, then by id. `None` when GitHub has listed none.
    #[must_use]
    pub fn newest(&self) -> Option<&Attempt> {
        self.attempts.iter().max_by_key(|a| (a.delivered_at, a.id))
    }

    /// When the event was first attempted, as far as the list tells.
    #[must_use]
    pub fn first_attempt_at(&self) -> Option<DateTime<Utc>> {
        self.attempts.iter().map(|a| a.delivered_at).min()
    }

    /// When GitHub stops listing and redelivering it, by its newest attempt. `None` when GitHub has
    /// listed none.
    #[must_use]
    pub fn expires_at(&self, window: TimeDelta) -> Option<DateTime<Utc>> {
        self.newest().map(|newest| later(newest.delivered_at, window))
    }

    /// The requests that were really made: all but the deferred ones, probes included.
    pub fn requests(&self) -> impl Iterator<Item = &Redelivery> {
        self.redeliveries.iter().filter(|r| r.outcome != Outcome::Deferred)
    }

    /// The requests that count against the cap and for backoff: those made, without the probes.
    pub fn counted(&self) -> impl Iterator<Item = &Redelivery> {
        self.requests().filter(|r| !r.probe)
    }
}

impl Outcome {
    /// The word that people and scripts see, in JSON, log and metric (SPEC section 6): four outcomes,
    /// since a refusal is one whether or not it is final, and an intent without an end may have left.
    #[must_use]
    pub fn shown(self) -> &'static str {
        match self {
            Self::Intended | Self::Ambiguous => Self::Ambiguous.as_str(),
            Self::Accepted | Self::Deferred => self.as_str(),
            Self::Gone | Self::Refused => Self::Refused.as_str(),
        }
    }
}

impl Redelivery {
    /// Whether the request may have made GitHub send another attempt.
    #[must_use]
    pub fn may_bring_attempt(&self) -> bool {
        let taken = match self.outcome {
            Outcome::Intended | Outcome::Accepted | Outcome::Ambiguous => true,
            Outcome::Gone | Outcome::Refused | Outcome::Deferred => false,
        };
        taken && self.means == Means::Redeliver
    }
}

macro_rules! words {
    ($name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $name {
            /// Every value, in the order of the definition.
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            /// The one stable word for log, metric, column and JSON.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// The value a word stands for; `None` for an unknown word.
            #[must_use]
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}
pub(crate) use words;

words!(Via { Delivery = "delivery", Redelivery = "redelivery", Api = "api" });
words!(Means { Redeliver = "redeliver", Fetch = "fetch" });
words!(Outcome {
    Intended = "intended",
    Accepted = "accepted",
    Gone = "gone",
    Refused = "refused",
    Ambiguous = "ambiguous",
    Deferred = "deferred",
});
