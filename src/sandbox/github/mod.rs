//! The simulated GitHub: a world with a delivery log per hook, the API over it, and the sender.
//!
//! A [`World`] is state behind one lock. [`World::emit`] makes GitHub POST an event to a hook's URL
//! and log the result; [`SimulatedGithub`] serves the log through the API that GitHub documents, with
//! the App's JWT checked; a redelivery asked for there makes the world POST once more. What can go
//! wrong is state too ([`Faults`]): it is set on the world, not scripted call by call. Facts about
//! GitHub are those of GITHUB.md; where it says "unknown", the doc comment here says what was chosen.
//!
//! The world keeps two records apart: the log is what GitHub believes ([`World::attempts`]), the
//! posts are what really went over the wire ([`World::posts`]).
//!
//! # Control interface
//!
//! On the same address, for people, without credentials:
//!
//! ```text
//! POST /_sandbox/emit    {"count": 5, "event": "push", "action": null, "hook": "ci"}   all optional
//! POST /_sandbox/faults  {"sender": "swallow", "next": 3}   see `control::FaultsRequest`
//! POST /_sandbox/hook    {"hook": "ci", "url": "...", "secret": "...", "content_type": "json"}
//! GET  /_sandbox/log     the newest attempts of every hook, and the counters (?limit=100)
//! ```

mod api;
mod auth;
mod control;
mod counters;
pub mod events;
mod faults;
mod hook;
mod limits;
mod log;
mod sender;
mod server;
mod signature;
mod world;

#[cfg(test)]
mod tests;

pub use self::{
    auth::{AppKey, KeyError},
    counters::{Counters, Post},
    events::Event,
    faults::{
        Answer, ApiFaults, Faults, Link, PageFault, Redelivering, Sending, TimeOutForm, Unsettled,
    },
    hook::{ContentType, HookConfig, HookRef, HookSetup},
    limits::{Limits, Primary, Secondary},
    log::{Backfill, LoggedAttempt, ReceiverAnswer},
    server::SimulatedGithub,
    world::{Settings, World},
};
