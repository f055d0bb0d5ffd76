//! One integration binary: faster to link, one place for what the tests share.

mod migrations;
mod store;
mod support;
