//! The inbox: what is to be handed to the application, who is at it, and what became of it.
//!
//! Judged by processing status: an event is done when a worker that still holds its claim says so,
//! never because a row exists. Everything a worker has to write is one transaction per turn, so that
//! conclusions and claims share one sync.

mod claim;
mod conclude;
mod enqueue;
mod history;
mod operate;
mod read;
mod turn;
pub(super) mod types;

pub(super) use self::enqueue::{BURIED, ENTER, ENTERED, Entry, REPEATED, enqueue};
