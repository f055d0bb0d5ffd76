//! The conformance suite of the store: every method, every statement, on both databases.

mod alerts;
mod deliveries;
mod hooks;
mod inbox;
mod lease;
mod opening;
mod pages;
mod parallel;
mod plans;
mod receipts;
mod redeliveries;
mod source;
mod sweeps;
mod verdicts;
pub(crate) mod world;
