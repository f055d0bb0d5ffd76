//! What the store knows, judged now, as the JSON that scripts rely on; the command line and the
//! admin listener print the same.
//!
//! Nothing here is cached: a verdict depends on the time, so it is formed when somebody asks.

mod handover;
mod list;
mod show;
mod status;

use chrono::{DateTime, Utc};

pub use self::{
    handover::{DeadList, DeadView, HandoverView, InboxView, dead},
    list::{DeliveryList, DeliveryView, ListQuery, list},
    show::{AttemptRow, Event, ReceiptView, RedeliveryRow, Shown, show},
    status::{ConditionView, HookStatus, Inbox, Missing, Status, status},
};
use crate::{
    config::Hook,
    domain::{
        delivery::Delivery,
        verdict::{Verdict, judge},
    },
    store::{Store, StoreError, types::HookMemory},
};

/// One hook's rules and memory: all that judging its deliveries takes besides their own facts.
#[derive(Debug)]
pub struct Bench<'a> {
    /// The configured hook.
    pub hook: &'a Hook,
    /// What the store remembers of it.
    pub memory: HookMemory,
}

impl<'a> Bench<'a> {
    /// Reads the hook's memory.
    pub async fn of(store: &Store, hook: &'a Hook) -> Result<Self, StoreError> {
        Ok(Self { hook, memory: store.hook(&hook.name).await? })
    }

    /// The verdict on one delivery at `now`.
    pub fn judge(&self, delivery: &Delivery, now: DateTime<Utc>) -> Verdict {
        judge(delivery, &self.hook.policy, &self.memory.standing(), now)
    }
}
