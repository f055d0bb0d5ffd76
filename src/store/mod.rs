//! The durable memory: SQLite or PostgreSQL behind one concrete type; the only place that knows sqlx.

mod error;
pub mod types;

use chrono::{DateTime, Utc};

pub use self::error::StoreError;
use self::types::*;
use crate::{
    config::Database,
    domain::{
        boundary::Listing,
        delivery::{Delivery, Outcome},
        ids::{AttemptId, Guid, HookName},
        plan::Ramp,
        verdict::Verdict,
    },
    github::Listed,
};

/// A handle on the store; cheap to clone. No method reads a clock: `now` comes in.
#[derive(Debug, Clone)]
pub struct Store {}

type Result<T, E = StoreError> = std::result::Result<T, E>;

/// Opening and looking after the database.
impl Store {
    /// Opens (SQLite: creates) the database; migrates it when the settings say so.
    ///
    /// # Errors
    /// [`StoreError::Pending`] when migrations are pending and the settings say `manual`.
    pub async fn open(settings: &Database) -> Result<Self> {
        let _ = settings;
        todo!()
    }

    /// Applies pending migrations, guarded against a second process; returns how many ran.
    pub async fn migrate(settings: &Database) -> Result<usize> {
        let _ = settings;
        todo!()
    }

    /// Commits something small: proof that the store takes writes now.
    pub async fn check_writable(&self, now: DateTime<Utc>) -> Result<()> {
        let _ = now;
        todo!()
    }

    /// Waits for running writes, then closes every connection.
    pub async fn close(&self) {
        todo!()
    }
}

/// Receipts (`receipts.rs`, `writer.rs`).
impl Store {
    /// Records one verified arrival; returns after the commit is on disk. Many calls share one
    /// commit. The body is stored compressed and comes back byte for byte.
    pub async fn record(&self, arrival: Arrival) -> Result<Recorded> {
        let _ = arrival;
        todo!()
    }

    /// Whether the last attempt to record committed; `true` before the first.
    pub fn records(&self) -> bool {
        todo!()
    }

    /// One receipt with its bytes. `None`: never arrived.
    pub async fn receipt(&self, hook: &HookName, guid: &Guid) -> Result<Option<StoredReceipt>> {
        let _ = (hook, guid);
        todo!()
    }

    /// When the newest event came in over the network (not `via: api`).
    pub async fn newest_arrival(&self, hook: &HookName) -> Result<Option<DateTime<Utc>>> {
        let _ = hook;
        todo!()
    }
}

/// Hooks and what a sweep remembers of them (`hooks.rs`, `lease.rs`, `limits`).
impl Store {
    /// Notes that the receiver records for these hooks from `now` on; keeps an earlier moment.
    pub async fn begin_recording(&self, hooks: &[HookName], now: DateTime<Utc>) -> Result<()> {
        let _ = (hooks, now);
        todo!()
    }

    /// Everything remembered about a hook; the default for one never seen.
    pub async fn hook(&self, hook: &HookName) -> Result<HookMemory> {
        let _ = hook;
        todo!()
    }

    /// Stores the ramp. Fenced by the lease.
    pub async fn save_ramp(&self, lease: &Lease, ramp: &Ramp, now: DateTime<Utc>) -> Result<()> {
        let _ = (lease, ramp, now);
        todo!()
    }

    /// Takes the sweep lease of a hook if it is free or expired. A higher token each time.
    pub async fn acquire(
        &self,
        hook: &HookName,
        owner: &str,
        now: DateTime<Utc>,
        until: DateTime<Utc>,
    ) -> Result<Acquired> {
        let _ = (hook, owner, now, until);
        todo!()
    }

    /// Prolongs the lease; [`StoreError::LeaseLost`] when another token holds it.
    pub async fn renew(&self, lease: &Lease, until: DateTime<Utc>) -> Result<()> {
        let _ = (lease, until);
        todo!()
    }

    /// Gives the lease back; nothing happens when it is already lost.
    pub async fn release(&self, lease: &Lease) -> Result<()> {
        let _ = lease;
        todo!()
    }

    /// Until when a credential must not be used; `None`: free.
    pub async fn limit(&self, credential: &str) -> Result<Option<DateTime<Utc>>> {
        let _ = credential;
        todo!()
    }

    /// Remembers a limit for every process that uses this store; keeps a later one.
    pub async fn set_limit(&self, credential: &str, until: DateTime<Utc>) -> Result<()> {
        let _ = (credential, until);
        todo!()
    }
}

/// What the list told, and the deliveries it makes (`attempts.rs`, `deliveries.rs`).
impl Store {
    /// Stores a page and how far the listing got, in one transaction. Idempotent. A new or changed
    /// attempt reopens its delivery. `adopt_at` is stored once, when the hook has none yet.
    pub async fn save_page(
        &self,
        lease: &Lease,
        rows: &[Listed],
        listing: &Listing,
        adopt_at: DateTime<Utc>,
        now: DateTime<Utc>,
    ) -> Result<SavedPage> {
        let _ = (lease, rows, listing, adopt_at, now);
        todo!()
    }

    /// Open deliveries of a hook (not closed by a verdict), with all their facts, in GUID order,
    /// after `after`, at most `limit`. Memory stays flat however many there are.
    pub async fn open_deliveries(
        &self,
        hook: &HookName,
        after: Option<&Guid>,
        limit: u32,
    ) -> Result<Vec<OpenDelivery>> {
        let _ = (hook, after, limit);
        todo!()
    }

    /// One delivery with all its facts; `None` when neither list nor receiver knows it.
    pub async fn delivery(&self, hook: &HookName, guid: &Guid) -> Result<Option<OpenDelivery>> {
        let _ = (hook, guid);
        todo!()
    }

    /// Stores judgements, closing what is settled or excused. Fenced.
    pub async fn save_verdicts(
        &self,
        lease: &Lease,
        verdicts: &[(Guid, Verdict)],
        now: DateTime<Utc>,
    ) -> Result<()> {
        let _ = (lease, verdicts, now);
        todo!()
    }

    /// Opens every delivery of the hook whose newest attempt is not before `since`, because the rules
    /// changed, and remembers `fingerprint` as the rules they are now judged by. Fenced.
    pub async fn reopen(
        &self,
        lease: &Lease,
        since: DateTime<Utc>,
        fingerprint: &str,
    ) -> Result<u64> {
        let _ = (lease, since, fingerprint);
        todo!()
    }

    /// Marks what was first attempted since `since` as asked for by hand, for good, and opens it.
    pub async fn ask_by_hand(&self, lease: &Lease, since: DateTime<Utc>) -> Result<u64> {
        let _ = (lease, since);
        todo!()
    }

    /// Takes a delivery out of missing. `Ok(false)`: unknown.
    pub async fn dismiss(
        &self,
        hook: &HookName,
        guid: &Guid,
        note: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<bool> {
        let _ = (hook, guid, note, now);
        todo!()
    }

    /// Deliveries for `list`, newest first attempt first.
    pub async fn list(&self, query: &Query) -> Result<Vec<OpenDelivery>> {
        let _ = query;
        todo!()
    }

    /// Which configured or stored hooks know this GUID.
    pub async fn hooks_of(&self, guid: &Guid) -> Result<Vec<HookName>> {
        let _ = guid;
        todo!()
    }
}

/// Requests of ours (`redeliveries.rs`).
impl Store {
    /// Commits the intent to ask, before anything is sent. The next `nth` of the delivery is
    /// assigned here. Fenced when a lease is given; by-hand requests of one GUID come without.
    pub async fn intend(&self, intent: &Intent, lease: Option<&Lease>) -> Result<u32> {
        let _ = (intent, lease);
        todo!()
    }

    /// Stores what became of a request.
    pub async fn conclude(
        &self,
        hook: &HookName,
        guid: &Guid,
        nth: u32,
        outcome: Outcome,
        detail: Option<&str>,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let _ = (hook, guid, nth, outcome, detail, now);
        todo!()
    }

    /// The deliveries that were asked for since `asked_since`, with all their facts.
    pub async fn asked_since(
        &self,
        hook: &HookName,
        asked_since: DateTime<Utc>,
    ) -> Result<Vec<Delivery>> {
        let _ = (hook, asked_since);
        todo!()
    }

    /// Everything about one delivery for `show`.
    pub async fn story(&self, hook: &HookName, guid: &Guid) -> Result<Option<Story>> {
        let _ = (hook, guid);
        todo!()
    }
}

/// History of sweeps (`sweeps.rs`).
impl Store {
    /// Opens the row of a sweep and returns its id.
    pub async fn begin_sweep(
        &self,
        lease: &Lease,
        trigger: &str,
        dry_run: bool,
        now: DateTime<Utc>,
    ) -> Result<i64> {
        let _ = (lease, trigger, dry_run, now);
        todo!()
    }

    /// Completes the row of a sweep with its numbers.
    pub async fn finish_sweep(
        &self,
        id: i64,
        numbers: &SweepNumbers,
        now: DateTime<Utc>,
    ) -> Result<()> {
        let _ = (id, numbers, now);
        todo!()
    }

    /// The newest sweeps of a hook (`None`: of all), newest first.
    pub async fn sweeps(&self, hook: Option<&HookName>, limit: u32) -> Result<Vec<SweepRow>> {
        let _ = (hook, limit);
        todo!()
    }
}

#[expect(dead_code, reason = "names used by the signatures above")]
type Names = (AttemptId,);
