//! The exit codes: scripts and service managers rely on them (SPEC section 10).

use std::process::ExitCode;

/// How a command ended. The order is the severity: of several, the greatest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Exit {
    /// Fine.
    Fine,
    /// It worked, and something is missing, or the page budget left a rest.
    Missing,
    /// It failed, or the list could not be read to its end.
    Failed,
    /// GitHub refused us: 401, or 403 that is no rate limit.
    Refused,
    /// Wrong usage or configuration.
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Missing => 3,
            Exit::Refused => 4,
        })
    }
}
