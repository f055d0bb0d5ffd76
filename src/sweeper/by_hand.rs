//! One delivery asked for by a person: `redeliver GUID` and `fetch GUID`.

use thiserror::Error;

use super::{Sweeper, ask::Ask, calls::limit_message, report::RequestReport};
use crate::{
    domain::{
        delivery::Means,
        ids::{Guid, HookName},
    },
    github::GitHubError,
    store::StoreError,
};

/// The reason's word of a request by hand.
const REASON: &str = "by_hand";

/// Why a delivery cannot be asked for by hand.
#[derive(Debug, Error)]
pub enum ByHandError {
    /// Neither list nor receiver knows it.
    #[error("hook {hook} knows no delivery {guid}; run `redeliverd sweep` to read the newest list")]
    Unknown {
        /// The hook.
        hook: HookName,
        /// The GUID.
        guid: Guid,
    },
    /// Received, but not in GitHub's list (yet), so there is no attempt to repeat.
    #[error("GitHub's list has shown no attempt of delivery {guid} yet; run `redeliverd sweep`")]
    NoAttempt {
        /// The GUID.
        guid: Guid,
    },
    /// The credential must not be used now.
    #[error("{0}")]
    Limited(String),
    /// GitHub refused the credential; the request counts as never made.
    #[error(transparent)]
    Refused(GitHubError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Sweeper {
    /// Asks GitHub now for one more attempt of this delivery, whatever its verdict.
    ///
    /// # Errors
    /// See [`ByHandError`]; what GitHub answered stands in the report.
    pub async fn ask_one(&self, guid: &Guid) -> Result<RequestReport, ByHandError> {
        self.by_hand(guid, Means::Redeliver).await
    }

    /// Reads this delivery through the API now and takes it in, whatever its verdict.
    ///
    /// # Errors
    /// See [`ByHandError`]; what GitHub answered stands in the report.
    pub async fn fetch_one(&self, guid: &Guid) -> Result<RequestReport, ByHandError> {
        self.by_hand(guid, Means::Fetch).await
    }

    async fn by_hand(&self, guid: &Guid, means: Means) -> Result<RequestReport, ByHandError> {
        let hook = &self.settings.hook.name;
        let open = self.store.delivery(hook, guid).await?;
        let delivery = open
            .ok_or_else(|| ByHandError::Unknown { hook: hook.clone(), guid: guid.clone() })?
            .delivery;
        let attempt =
            delivery.newest().ok_or_else(|| ByHandError::NoAttempt { guid: guid.clone() })?.id;
        if let Some(until) = self.limited(self.clock.now()).await? {
            return Err(ByHandError::Limited(limit_message(until)));
        }
        let clock = self.store.hook(hook).await?.clock_offset;
        let delivery = &delivery;
        let ask =
            Ask { delivery, attempt, means, probe: false, clock, reason: REASON, sweep: None };
        let asked = self.ask(&ask).await?;
        match asked.error {
            Some(error @ GitHubError::Unauthorized { .. }) => Err(ByHandError::Refused(error)),
            _ => Ok(asked.report),
        }
    }
}
