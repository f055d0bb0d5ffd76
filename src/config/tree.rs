//! The configuration as a tree of what was written: the file, the environment laid over it, and
//! both laid over the defaults.

use std::{collections::BTreeMap, ffi::OsString, fmt};

use super::problem::{Problem, Problems};

/// One node, which still knows whether a value came from the environment: there it is always text.
#[derive(Clone)]
pub(super) enum Node {
    Table(BTreeMap<String, Node>),
    List(Vec<Node>),
    Value(toml::Value),
    Variable { name: String, text: String },
}

/// One step on the way to a key.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Index(usize),
    Key(String),
}

/// What every variable of ours begins with.
pub(super) const PREFIX: &str = "REDELIVERD_";
/// The one variable that names the file instead of a key.
pub(super) const FILE_VARIABLE: &str = "REDELIVERD_CONFIG";

impl From<toml::Value> for Node {
    fn from(value: toml::Value) -> Self {
        match value {
            toml::Value::Table(table) => {
                Self::Table(table.into_iter().map(|(key, value)| (key, value.into())).collect())
            }
            toml::Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            scalar @ (toml::Value::String(_)
            | toml::Value::Integer(_)
            | toml::Value::Float(_)
            | toml::Value::Boolean(_)
            | toml::Value::Datetime(_)) => Self::Value(scalar),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Index(index) => index.fmt(f),
            Self::Key(key) => key.fmt(f),
        }
    }
}

/// Parses TOML. A syntax error is one problem with line and column; the line itself is not
/// repeated, because it could hold a secret.
pub(super) fn parse(text: &str, file: &str, problems: &mut Problems) -> Option<Node> {
    match text.parse::<toml::Table>() {
        Ok(table) => Some(toml::Value::Table(table).into()),
        Err(error) => {
            let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            let message = error.message().replace('\n', ", ");
            problems.push(Problem::error(
                file,
                format!("line {line}, column {column}: not TOML: {message}"),
            ));
            None
        }
    }
}

/// Lays `over` over `base`: tables are merged, everything else is replaced.
pub(super) fn overlay(base: &mut Node, over: Node) {
    match (base, over) {
        (Node::Table(base), Node::Table(over)) => {
            for (key, node) in over {
                match base.get_mut(&key) {
                    Some(below) => overlay(below, node),
                    None => {
                        base.insert(key, node);
                    }
                }
            }
        }
        (base, over) => *base = over,
    }
}

/// Lays what was written over the defaults. The one entry of `hooks` in the defaults is the
/// template of every hook; its `forward` counts only for a hook that forwards.
pub(super) fn over_defaults(mut defaults: Node, mut written: Node) -> Node {
    if let Node::Table(table) = &mut defaults
        && let Some(Node::List(templates)) = table.remove("hooks")
        && let Some(template) = templates.into_iter().next()
        && let Node::Table(written) = &mut written
        && let Some(Node::List(hooks)) = written.get_mut("hooks")
    {
        for hook in hooks {
            if let Node::Table(keys) = hook {
                let mut full = template.clone();
                if let Node::Table(full) = &mut full
                    && !keys.contains_key("forward")
                {
                    full.remove("forward");
                }
                overlay(&mut full, Node::Table(std::mem::take(keys)));
                *hook = full;
            }
        }
    }
    overlay(&mut defaults, written);
    defaults
}

/// Puts every `REDELIVERD_SECTION__KEY` in its place. Whether the key exists is found out when the
/// tree is read.
pub(super) fn apply_variables(
    root: &mut Node,
    variables: &[(String, OsString)],
    problems: &mut Problems,
) {
    let mut placed = BTreeMap::new();
    for (name, value) in variables {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        if name == FILE_VARIABLE {
            continue;
        }
        if !path.contains("__") {
            problems.push(
                Problem::warning(name, "is not a variable of redeliverd and is ignored")
                    .hint(format!("a key is written {PREFIX}SECTION__KEY, with two underscores")),
            );
            continue;
        }
        match value.to_str() {
            Some(text) => {
                placed.insert(steps(path), (name.clone(), text.to_owned()));
            }
            None => problems.push(Problem::error(name, "is not UTF-8 text")),
        }
    }
    // In the order of their paths, so that entry 0 of a list exists before entry 1.
    for (path, (name, text)) in placed {
        if let Err(why) = place(root, &path, Node::Variable { name: name.clone(), text }) {
            problems.push(Problem::error(name, why));
        }
    }
}

fn steps(path: &str) -> Vec<Step> {
    path.split("__")
        .map(|step| match step.parse() {
            Ok(index) => Step::Index(index),
            Err(_) => Step::Key(step.to_ascii_lowercase()),
        })
        .collect()
}

fn place(slot: &mut Node, path: &[Step], leaf: Node) -> Result<(), &'static str> {
    let Some((first, rest)) = path.split_first() else {
        *slot = leaf;
        return Ok(());
    };
    match (slot, first) {
        (Node::Table(keys), step) => {
            place(keys.entry(step.to_string()).or_insert_with(|| empty_for(rest)), rest, leaf)
        }
        (Node::List(items), Step::Index(index)) => {
            if *index == items.len() {
                items.push(empty_for(rest));
            }
            match items.get_mut(*index) {
                Some(item) => place(item, rest, leaf),
                None => Err("skips an entry: entries are numbered from 0 without gaps"),
            }
        }
        (Node::List(_), Step::Key(_)) => {
            Err("must give the number of an entry, such as HOOKS__0__PATH")
        }
        (Node::Value(_) | Node::Variable { .. }, _) => {
            Err("reaches into a key that is already set to a single value")
        }
    }
}

/// What must stand at a place so that the rest of the path fits into it.
fn empty_for(rest: &[Step]) -> Node {
    match rest.first() {
        Some(Step::Index(_)) => Node::List(Vec::new()),
        Some(Step::Key(_)) | None => Node::Table(BTreeMap::new()),
    }
}
