//! Rebuilds when a migration is added: `migrate!` notices edited files, but no new ones.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
