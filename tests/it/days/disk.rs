//! Days on which the disk runs out.
