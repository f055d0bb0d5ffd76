//! The receiver over real sockets on a real store: SPEC section 7, row by row.

mod answers;
mod bytes;
mod limits;
mod post;
mod rig;
mod stopping;
