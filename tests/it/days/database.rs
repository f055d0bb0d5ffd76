//! Days on which the database is gone.
