//! The metric families; bounded labels only, never a GUID, repository or URL.

use std::{fmt, sync::atomic::AtomicU64};

use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
        info::Info,
    },
    registry::Registry,
};

/// The label set `{hook}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct HookLabel {
    /// The configured name.
    pub hook: String,
}

/// Declares a label set with `hook` and further fixed words.
macro_rules! labels {
    ($($(#[$doc:meta])* $name:ident { $($field:ident),+ })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
        pub struct $name {
            $(
                #[doc = concat!("The label `", stringify!($field), "`.")]
                pub $field: String
            ),+
        }
    )+};
}

labels! {
    /// `{hook,result}`
    ResultLabel { hook, result }
    /// `{hook,reason}`
    ReasonLabel { hook, reason }
    /// `{hook,trigger,result}`
    SweepLabel { hook, trigger, result }
    /// `{hook,call,result}`
    CallLabel { hook, call, result }
    /// `{hook,outcome}`
    OutcomeLabel { hook, outcome }
    /// `{hook,via}`
    ViaLabel { hook, via }
    /// `{hook,state}`
    StateLabel { hook, state }
    /// `{hook,slot}`
    SlotLabel { hook, slot }
    /// `{condition,hook}`; the hook is empty where a condition is about the whole daemon.
    ConditionLabel { condition, hook }
    /// `{channel,result}`
    ChannelLabel { channel, result }
}

/// A gauge of seconds or of a count that may be fractional.
pub type FloatGauge = Gauge<f64, AtomicU64>;

/// Bucket bounds in seconds for one histogram family.
#[derive(Debug, Clone, Copy)]
pub struct Buckets(&'static [f64]);

impl MetricConstructor<Histogram> for Buckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new(self.0.iter().copied())
    }
}

/// A histogram per label set.
pub type Histograms = Family<HookLabel, Histogram, Buckets>;

/// An acknowledgement: a tenth of a millisecond to GitHub's ten seconds.
const ACK: Buckets =
    Buckets(&[0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 10.0]);
/// A hand-over: a neighbour that queues at once, to the default time-out.
const HANDOVER: Buckets =
    Buckets(&[0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0]);
/// A sweep: one quick call to a long first pass.
const SWEEP: Buckets = Buckets(&[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0]);
/// A repair: a minute to the whole window.
const REPAIR: Buckets = Buckets(&[
    60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0, 7200.0, 21600.0, 43200.0, 86400.0, 172_800.0,
    259_200.0, 604_800.0,
]);

macro_rules! metrics {
    ($($field:ident: $kind:ty = $init:expr, $name:literal, $help:literal;)+) => {
        /// Every metric family of the process (SPEC section 12); cheap to share behind an `Arc`.
        pub struct Metrics {
            registry: Registry,
            $(
                #[doc = concat!("`redeliverd_", $name, "`: ", $help, ".")]
                pub $field: $kind
            ),+
        }

        impl Default for Metrics {
            fn default() -> Self {
                let mut registry = Registry::with_prefix("redeliverd");
                registry.register(
                    "build",
                    "The running version",
                    Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]),
                );
                $(
                    let $field: $kind = $init;
                    registry.register($name, $help, $field.clone());
                )+
                Self { registry, $($field),+ }
            }
        }
    };
}

// Counters carry their name without `_total`: the encoder appends it.
metrics! {
    missing_deliveries: Family<ReasonLabel, Gauge> = Family::default(),
        "missing_deliveries", "Deliveries that should have a receipt and have none";
    oldest_missing_age_seconds: Family<HookLabel, FloatGauge> = Family::default(),
        "oldest_missing_age_seconds", "Age of the oldest missing delivery";
    last_complete_sweep_timestamp_seconds: Family<HookLabel, FloatGauge> = Family::default(),
        "last_complete_sweep_timestamp_seconds", "When the last complete sweep began";
    sweeps: Family<SweepLabel, Counter> = Family::default(),
        "sweeps", "Finished sweeps";
    sweep_duration_seconds: Histograms = Family::new_with_constructor(SWEEP),
        "sweep_duration_seconds", "How long sweeps took";
    sweep_ticks_skipped: Family<HookLabel, Counter> = Family::default(),
        "sweep_ticks_skipped", "Ticks that found a sweep still running";
    github_api_calls: Family<CallLabel, Counter> = Family::default(),
        "github_api_calls", "Requests to GitHub's API";
    github_ratelimit_remaining: Family<HookLabel, Gauge> = Family::default(),
        "github_ratelimit_remaining", "Remaining requests as GitHub last said";
    github_clock_offset_seconds: Family<HookLabel, FloatGauge> = Family::default(),
        "github_clock_offset_seconds", "GitHub's clock minus ours";
    redeliveries: Family<OutcomeLabel, Counter> = Family::default(),
        "redeliveries", "Redelivery requests by outcome";
    repaired: Family<ViaLabel, Counter> = Family::default(),
        "repaired", "Missing deliveries that arrived after all";
    repair_seconds: Histograms = Family::new_with_constructor(REPAIR),
        "repair_seconds", "From first attempt to receipt, for repaired deliveries";
    lost: Family<HookLabel, Counter> = Family::default(),
        "lost", "Deliveries that expired without arriving";
    received: Family<ResultLabel, Counter> = Family::default(),
        "received", "Requests to the receiver by result";
    ack_seconds: Histograms = Family::new_with_constructor(ACK),
        "ack_seconds", "From complete request head to answer";
    signature_failures: Family<HookLabel, Counter> = Family::default(),
        "signature_failures", "Requests whose signature matched no secret";
    secret_matches: Family<SlotLabel, Counter> = Family::default(),
        "secret_matches", "Verified requests by position of the matching secret";
    inbox_events: Family<StateLabel, Gauge> = Family::default(),
        "inbox_events", "Received events by hand-over state";
    handovers: Family<ResultLabel, Counter> = Family::default(),
        "handovers", "Hand-overs to the application by result";
    handover_seconds: Histograms = Family::new_with_constructor(HANDOVER),
        "handover_seconds", "How long hand-overs took, from reading the event to the answer";
    condition: Family<ConditionLabel, FloatGauge> = Family::default(),
        "condition", "1 while a condition holds, 0 while it does not, NaN while nobody can look";
    channel_notifications: Family<ChannelLabel, Counter> = Family::default(),
        "channel_notifications", "Notices to operators by channel and result";
    database_size_bytes: Gauge = Gauge::default(),
        "database_size_bytes", "Size of the database";
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Forgets what is so at the moment, since a hook that is not configured any more would be shown
    /// as it last was, for ever. All of it is measured again within a sweep; counters stay.
    pub fn forget_states(&self) {
        self.forget_store();
        self.github_ratelimit_remaining.clear();
        self.github_clock_offset_seconds.clear();
        self.condition.clear();
    }

    /// Forgets what is read from the store, because it cannot be read.
    pub fn forget_store(&self) {
        self.missing_deliveries.clear();
        self.oldest_missing_age_seconds.clear();
        self.last_complete_sweep_timestamp_seconds.clear();
        self.inbox_events.clear();
        // A plain gauge cannot be absent; no database has this size.
        self.database_size_bytes.set(0);
    }

    /// All families in the OpenMetrics text format.
    ///
    /// # Errors
    /// Never in practice: writing to a `String` cannot fail.
    pub fn render(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
