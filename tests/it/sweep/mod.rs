//! The sweep against the simulated GitHub: one story per verdict and per fault.

mod asking;
mod clocks;
mod judging;
mod leases;
mod list;
mod listing;
