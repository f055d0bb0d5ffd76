//! The receiver that ships, on a socket and a SQLite file of its own.

mod arrivals;
mod limits;
mod logs;
mod rig;
mod table;
