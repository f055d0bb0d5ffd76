//! One row per line of SPEC section 9's table, and the third state of each.
