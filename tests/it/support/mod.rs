//! What the tests share.

pub(crate) mod backends;
pub(crate) mod postgres;
