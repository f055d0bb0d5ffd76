//! Tells operators: finds out how things stand, and says what is news through every channel.
//!
//! One task watches and one task per channel tells, so that a channel that hangs delays no other,
//! and nothing here is in the way of sweeping or receiving.

mod alertmanager;
mod backlog;
mod channel;
mod email;
mod facts;
pub mod format;
mod heartbeat;
mod http;
mod log;
mod meter;
mod notice;
mod pagerduty;
mod slack;
mod space;
mod watch;
mod webhook;

use std::{fmt, future::Future, pin::Pin, time::Duration};

use chrono::TimeDelta;
use thiserror::Error;

pub use self::{
    notice::Notice,
    space::{free_space, takes_files},
    watch::{Task, Watch},
};
use crate::{
    config::{Alerts, Channel},
    telemetry::{ChannelLabel, Metrics},
};

/// How telling one notice goes on.
pub type Told<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + Send + 'a>>;

/// One way to reach operators.
pub trait Notifier: fmt::Debug + Send + Sync {
    /// Tells one notice, once. It ends within some seconds, whatever the other side does.
    fn tell<'a>(&'a self, notice: &'a Notice) -> Told<'a>;

    /// When something that still holds is told again, where `configured` is what the operator
    /// wants of channels that people read.
    fn repeat_every(&self, configured: TimeDelta) -> TimeDelta {
        configured
    }
}

/// A notice that was not taken. The message names no secret and no URL.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Failure {
    /// What happened.
    pub message: String,
    /// How long the other side asked to be left alone.
    pub retry_after: Option<Duration>,
}

/// A channel that cannot be used as configured.
#[derive(Debug, Error)]
#[error("alerts.channels: {channel}: {message}")]
pub struct SetupError {
    channel: String,
    message: String,
}

/// A notifier with its name in logs, metrics and the store.
#[derive(Debug)]
pub struct Named {
    /// Its kind; from the second of a kind on with its number, such as `slack_2`.
    pub name: String,
    /// How it tells.
    pub notifier: Box<dyn Notifier>,
}

impl Failure {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), retry_after: None }
    }
}

/// Every configured channel, after the log.
///
/// # Errors
/// Names the channel that cannot be used.
pub fn channels(alerts: &Alerts) -> Result<Vec<Named>, SetupError> {
    let mut all = vec![Named { name: "log".to_owned(), notifier: Box::new(log::Log) }];
    for channel in &alerts.channels {
        let kind = kind(channel);
        let before = all.iter().filter(|named| named.name.starts_with(kind)).count();
        let name = if before == 0 { kind.to_owned() } else { format!("{kind}_{}", before + 1) };
        let notifier =
            notifier(channel).map_err(|message| SetupError { channel: name.clone(), message })?;
        all.push(Named { name, notifier });
    }
    Ok(all)
}

fn kind(channel: &Channel) -> &'static str {
    match channel {
        Channel::Alertmanager { .. } => "alertmanager",
        Channel::Slack { .. } => "slack",
        Channel::PagerDuty { .. } => "pagerduty",
        Channel::Webhook { .. } => "webhook",
        Channel::Email { .. } => "email",
    }
}

fn notifier(channel: &Channel) -> Result<Box<dyn Notifier>, String> {
    Ok(match channel {
        Channel::Alertmanager { urls } => Box::new(alertmanager::Alertmanager::new(urls)?),
        Channel::Slack { url } => Box::new(slack::Slack::new(url.clone())?),
        Channel::PagerDuty { routing_key, url } => {
            Box::new(pagerduty::PagerDuty::new(routing_key.clone(), url.clone())?)
        }
        Channel::Webhook { url, secret } => Box::new(webhook::Webhook::new(url.clone(), secret)?),
        Channel::Email { smtp_url, from, to, tls } => {
            Box::new(email::Email::new(smtp_url, from, to, *tls)?)
        }
    })
}

/// Counts how telling went.
fn count(metrics: &Metrics, channel: &str, result: &Result<(), Failure>) {
    let result = if result.is_ok() { "sent" } else { "failed" };
    let label = ChannelLabel { channel: channel.to_owned(), result: result.to_owned() };
    metrics.channel_notifications.get_or_create(&label).inc();
}
