//! A simulated GitHub to try a configuration against, to demonstrate with, and to test with.

pub mod github;
pub mod story;
