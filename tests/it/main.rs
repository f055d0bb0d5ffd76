//! The integration tests: one binary, so that they link once and share their fakes.

mod support;
mod sweep;
