//! What may be written: every section with every key. The doc comment of a key is its description
//! in the JSON Schema.

use std::net::SocketAddr;

use url::Url;

use super::{
    LogFormat, Migrate,
    alerts::{ChannelKind, Tls},
    forward::Order,
    kinds::{Delicate, FilePath, HookKind, Literal, NumericId, PingUrl, Size},
    problem::Problems,
    read::{At, Read, object_schema, table, unknown},
    span::Span,
    tree::Node,
};
use crate::domain::{
    filter::EventPattern,
    ids::HookName,
    policy::{Repair, Trust},
};

/// Declares sections: a struct of optional keys that can be read, shown and described.
macro_rules! sections {
    ($(
        $(#[doc = $about:literal])*
        $name:ident { $( $(#[doc = $doc:literal])* $field:ident: $kind:ty, )+ }
    )+) => {$(
        $(#[doc = $about])*
        #[derive(Debug, Clone)]
        pub(super) struct $name {
            $( $(#[doc = $doc])* pub(super) $field: Option<$kind>, )+
        }

        impl Read for $name {
            fn read(node: Node, at: &At, problems: &mut Problems) -> Option<Self> {
                let mut keys = table(node, at, problems)?;
                let section = Self {$(
                    $field: keys.remove(stringify!($field)).and_then(|node| {
                        <$kind as Read>::read(node, &at.key(stringify!($field)), problems)
                    }),
                )+};
                unknown(keys, &[$(stringify!($field)),+], at, problems);
                Some(section)
            }

            fn show(&self) -> toml::Value {
                let mut keys = toml::Table::new();
                $(
                    if let Some(value) = &self.$field {
                        keys.insert(stringify!($field).to_owned(), Read::show(value));
                    }
                )+
                toml::Value::Table(keys)
            }

            fn schema() -> serde_json::Value {
                object_schema(concat!($($about),*), vec![$(
                    (stringify!($field), concat!($($doc),*), <$kind as Read>::schema())
                ),+])
            }
        }
    )+};
}

sections! {
    /// Configuration of redeliverd.
    File {
        /// Where GitHub's requests come in.
        receiver: Receiver,
        /// Health, metrics, API and web page.
        admin: Admin,
        /// Where everything is stored.
        database: Database,
        /// The webhooks to look after, at least one.
        hooks: Vec<HookEntry>,
        /// How lost deliveries are looked for and asked for.
        sweep: Sweep,
        /// How long things are kept.
        retention: Retention,
        /// When and where operators are told.
        alerts: Alerts,
        /// Log output.
        log: Log,
    }

    /// Where GitHub's requests come in.
    Receiver {
        /// Address and port.
        listen: SocketAddr,
        /// Largest accepted body.
        max_body: Size,
        /// Memory for all bodies being read or stored.
        max_bodies_in_flight: Size,
        /// How long a request head may take.
        head_timeout: Span,
        /// How long a body may take.
        body_timeout: Span,
    }

    /// Health, metrics, API and web page.
    Admin {
        /// Address and port. A non-loopback address needs a token.
        listen: SocketAddr,
        /// File with the bearer token for anything that changes state.
        token_file: FilePath,
        /// The token itself: by environment only.
        token: Literal,
    }

    /// Where everything is stored.
    Database {
        /// `sqlite:FILE` or `postgres://USER@HOST/DATABASE`.
        url: Delicate,
        /// Who applies migrations: every command that opens the store, or only `migrate`.
        migrate: Migrate,
    }

    /// One webhook.
    HookEntry {
        /// Its name in logs, metrics and commands.
        name: HookName,
        /// Whose webhook it is.
        kind: HookKind,
        /// The App's id. Either this or `client_id`.
        app_id: NumericId,
        /// The App's client id. Either this or `app_id`.
        client_id: String,
        /// File with the App's private key.
        private_key_file: FilePath,
        /// The private key itself: by environment only; goes before the file.
        private_key: Literal,
        /// The organization, for `kind = "organization"`.
        organization: String,
        /// OWNER/NAME, for `kind = "repository"`.
        repository: String,
        /// The webhook's id, for organizations and repositories.
        hook_id: NumericId,
        /// File with a personal access token, for organizations and repositories.
        token_file: FilePath,
        /// Files with the webhook secret, newest first; several while it is being rotated.
        webhook_secret_files: Vec<FilePath>,
        /// The webhook secret itself: by environment only; goes before the files.
        webhook_secret: Literal,
        /// The secret before the last rotation: by environment only.
        webhook_secret_old: Literal,
        /// Path that GitHub posts to. Each hook has its own.
        path: String,
        /// GitHub's API: `https://api.github.com`, `https://HOST/api/v3`, `https://api.NAME.ghe.com`.
        api_url: Url,
        /// Which witness settles a delivery: our receipt, GitHub's word, or both.
        trust: Trust,
        /// How far back GitHub lists and redelivers.
        window: Span,
        /// How a missing delivery is brought back.
        repair: Repair,
        /// How far back the first sweep asks for what failed before it.
        first_run: Span,
        /// Whether a SHA-1 signature is enough when there is no SHA-256 one.
        allow_sha1: bool,
        /// Which events matter.
        filter: Filter,
        /// Hand every event over to the application.
        forward: Forward,
    }

    /// Which events matter. Empty lists mean all.
    Filter {
        /// Wanted events: `event` or `event.action`.
        include: Vec<EventPattern>,
        /// Unwanted events; goes before `include`.
        exclude: Vec<EventPattern>,
        /// Wanted installations, by id.
        installations: Vec<NumericId>,
        /// Wanted repositories, by id: GitHub's delivery list has no names.
        repositories: Vec<NumericId>,
    }

    /// Hand every event over to the application by POST.
    Forward {
        /// Where the application listens; https, or http on loopback.
        url: Url,
        /// Per request.
        timeout: Span,
        /// Requests at the same time.
        concurrency: u32,
        /// How long a claimed event belongs to its worker. Longer than `timeout`.
        lease: Span,
        /// After so many failures an event is dead until an operator requeues it.
        max_attempts: u32,
        /// Waits between attempts; the last value repeats.
        backoff: Vec<Span>,
        /// `repository`: events of one repository one after the other.
        order: Order,
    }

    /// How lost deliveries are looked for and asked for.
    Sweep {
        /// Cron expression with seconds, UTC.
        schedule: String,
        /// How old an attempt must be before anything is concluded from it.
        settle: Span,
        /// How long a requested attempt may take to appear in GitHub's list.
        confirm_within: Span,
        /// How far a sweep reads behind the end of the last one.
        overlap: Span,
        /// How often a sweep reads back `recheck_back`.
        recheck_every: Span,
        /// How far such a sweep reads back.
        recheck_back: Span,
        /// Waits between the requests for one delivery; the last value repeats.
        backoff: Vec<Span>,
        /// Requests for one delivery.
        max_redeliveries: u32,
        /// How long a sweep's lease lasts without renewal. At least 10s.
        lease: Span,
        /// Between two redelivery requests.
        min_interval: Span,
        /// Redelivery requests in one sweep.
        max_requests: u32,
        /// List pages in one sweep. At least 2.
        max_pages: u32,
        /// Requests in one sweep while the endpoint is not known to be well.
        probes: u32,
    }

    /// How long things are kept.
    Retention {
        /// Bodies.
        payloads: Span,
        /// Everything else. At least the longest window and a day.
        history: Span,
    }

    /// When and where operators are told.
    Alerts {
        /// How often conditions are assessed, beside after every sweep.
        check_every: Span,
        /// How long something may be missing.
        missing_after: Span,
        /// How close to the end of its window a missing delivery may come.
        closing_within: Span,
        /// When a condition that still holds is told again.
        repeat_every: Span,
        /// How long no delivery at all may come. Not set: for ever.
        silence_after: Span,
        /// Requested after each complete sweep, for a dead man's switch.
        heartbeat_url: PingUrl,
        /// Whom to tell.
        channels: Vec<Channel>,
    }

    /// One way to tell operators.
    Channel {
        /// What it is.
        kind: ChannelKind,
        /// alertmanager: all peers.
        urls: Vec<Url>,
        /// pagerduty, webhook: where to post.
        url: Url,
        /// slack: file with the incoming webhook's URL.
        url_file: FilePath,
        /// webhook: file with the signing secret.
        secret_file: FilePath,
        /// pagerduty: file with the routing key.
        routing_key_file: FilePath,
        /// email: file with the SMTP URL, credentials included.
        smtp_url_file: FilePath,
        /// email: sender.
        from: String,
        /// email: recipient.
        to: String,
        /// email: how the connection is encrypted.
        tls: Tls,
        /// slack: the URL itself, by environment only.
        secret_url: Literal,
        /// webhook: the signing secret itself, by environment only.
        secret: Literal,
        /// pagerduty: the routing key itself, by environment only.
        routing_key: Literal,
        /// email: the SMTP URL itself, by environment only.
        smtp_url: Literal,
    }

    /// Log output.
    Log {
        /// A level, or directives such as `info,redeliverd=debug`. `RUST_LOG` goes before it.
        level: String,
        /// Text on a terminal and JSON elsewhere, or always one of them.
        format: LogFormat,
    }
}
