//! The decision: what is to be done with one delivery, and why (SPEC section 4).

mod judge;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use chrono::{DateTime, Utc};

pub use self::judge::{judge, means};
use super::{delivery::words, ids::AttemptId};

/// What is to be done with a delivery, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: it arrived.
    Settled(Proof),
    /// Nothing yet: look again at `until`, which lies in the future.
    Waiting {
        /// What is waited for.
        why: Wait,
        /// When the answer can change without a new fact.
        until: DateTime<Utc>,
    },
    /// Ask for one more attempt.
    Due {
        /// What is wrong with it.
        why: Fault,
        /// The attempt to repeat: the newest.
        attempt: AttemptId,
        /// Which request this would be, from 1.
        nth: u32,
    },
    /// Nothing more can be done by us.
    Abandoned(Loss),
    /// Nothing is wanted.
    Excused(Excuse),
}

/// What proves the arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Proof {
    /// Our receipt (and a 2xx attempt where trust is `both`).
    Received,
    /// A 2xx attempt, where GitHub's word decides.
    GithubOk,
}

/// What a waiting delivery waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Wait {
    /// Too fresh to conclude anything.
    Grace,
    /// Asked; the attempt has not appeared yet.
    InFlight,
    /// The wait after the last request still runs.
    Backoff,
    /// The endpoint is judged down and others are the probes.
    EndpointDown,
}

/// What is wrong with a due delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// GitHub reports success, we have no receipt.
    Unseen,
    /// No attempt succeeded.
    Failed,
}

/// Why a delivery is given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Loss {
    /// Out of the window, or gone by GitHub's word.
    Expired,
    /// Asked as often as allowed.
    Exhausted,
}

/// Why a delivery is nobody's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Excuse {
    /// An operator took it out of missing.
    Dismissed,
    /// Filtered out, or a ping.
    NotWanted,
    /// Older than the adoption of its hook, and not asked for by hand.
    Adopted,
}

words!(Proof { Received = "received", GithubOk = "github_ok" });
words!(Wait {
    Grace = "grace",
    InFlight = "in_flight",
    Backoff = "backoff",
    EndpointDown = "endpoint_down",
});
words!(Fault { Unseen = "unseen", Failed = "failed" });
words!(Loss { Expired = "expired", Exhausted = "exhausted" });
words!(Excuse { Dismissed = "dismissed", NotWanted = "not_wanted", Adopted = "adopted" });

impl Verdict {
    /// Every value of [`word`](Self::word).
    pub const WORDS: [&str; 5] = ["settled", "waiting", "due", "abandoned", "excused"];

    /// `settled`, `waiting`, `due`, `abandoned` or `excused`.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Settled(_) => "settled",
            Self::Waiting { .. } => "waiting",
            Self::Due { .. } => "due",
            Self::Abandoned(_) => "abandoned",
            Self::Excused(_) => "excused",
        }
    }

    /// The reason's stable word.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Settled(proof) => proof.as_str(),
            Self::Waiting { why, .. } => why.as_str(),
            Self::Due { why, .. } => why.as_str(),
            Self::Abandoned(loss) => loss.as_str(),
            Self::Excused(excuse) => excuse.as_str(),
        }
    }

    /// Whether the delivery counts as missing: due, waiting for any reason but `grace`, or abandoned.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        match self {
            Self::Due { .. } | Self::Abandoned(_) => true,
            Self::Waiting { why, .. } => *why != Wait::Grace,
            Self::Settled(_) | Self::Excused(_) => false,
        }
    }

    /// Whether only a new fact or another configuration can change the verdict, so that it need
    /// not be judged again: settled or excused.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        matches!(self, Self::Settled(_) | Self::Excused(_))
    }
}
