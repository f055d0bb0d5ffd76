//! Which request headers are stored: an allow-list, because GitHub once sent the webhook secret in
//! a header of its own (GITHUB.md section 5).

/// What may be stored, in lower case, and nothing else: whether it arrived or was read through the
/// API.
pub const STORED: [&str; 12] = [
    "content-type",
    "user-agent",
    "x-github-delivery",
    "x-github-event",
    "x-github-hook-id",
    "x-github-hook-installation-target-type",
    "x-github-hook-installation-target-id",
    "x-github-enterprise-version",
    "x-github-enterprise-host",
    "x-github-tenant",
    "x-hub-signature-256",
    "x-hub-signature",
];
