//! The decision core: pure. No async, no I/O, no clock, no logging; facts go in, decisions with
//! reasons come out.

pub mod attempt;
pub mod boundary;
pub mod delivery;
pub mod filter;
pub mod ids;
pub mod plan;
pub mod policy;
pub mod retry;
pub mod verdict;
