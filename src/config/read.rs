//! Reads the tree into the raw sections and notes every mismatch instead of stopping at the first.

use std::{collections::BTreeMap, fmt};

use serde_json::{Map, json};

use super::{
    problem::{Problem, Problems},
    suggest::{did_you_mean, nearest},
    tree::Node,
};

/// Where in the configuration we are, as people write it: `hooks[ci].filter`.
#[derive(Debug, Clone, Default)]
pub(super) struct At(String);

/// What a section, a list or a single value can do: be read, be shown, be described.
pub(super) trait Read: Sized {
    /// `None` means that a problem was noted.
    fn read(node: Node, at: &At, problems: &mut Problems) -> Option<Self>;
    /// As TOML, secrets masked.
    fn show(&self) -> toml::Value;
    /// As JSON Schema.
    fn schema() -> serde_json::Value;
}

/// A single value. Its text form is what the environment gives, and what a TOML string holds.
pub(super) trait Kind: Sized {
    /// What is right, such as `a duration`.
    const WANTED: &'static str;
    /// An example.
    const EXAMPLE: &'static str;
    /// Whether a wrong value may be repeated in a message.
    const MAY_BE_SHOWN: bool = true;

    fn from_text(text: &str) -> Result<Self, Wrong>;

    fn from_value(value: &toml::Value) -> Result<Self, Wrong> {
        match value.as_str() {
            Some(text) => Self::from_text(text),
            None => Err(Wrong::kind::<Self>(type_name(value))),
        }
    }

    fn show(&self) -> toml::Value;

    fn schema() -> serde_json::Value {
        json!({ "type": "string" })
    }
}

/// Why a value is not of its kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) message: String,
    pub(super) hint: Option<String>,
}

impl Wrong {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Another type than the key's.
    fn kind<K: Kind>(found: &str) -> Self {
        Self::new(format!("is {found}, but must be {}", K::WANTED))
            .hint(format!("for example {}", K::EXAMPLE))
    }

    /// The right type, but unreadable.
    pub(super) fn unreadable<K: Kind>() -> Self {
        Self::new(format!("is not {}", K::WANTED)).hint(format!("for example {}", K::EXAMPLE))
    }
}

impl At {
    pub(super) fn key(&self, key: &str) -> Self {
        if self.0.is_empty() { Self(key.to_owned()) } else { Self(format!("{}.{key}", self.0)) }
    }

    pub(super) fn item(&self, label: impl fmt::Display) -> Self {
        Self(format!("{}[{label}]", self.0))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<K: Kind> Read for K {
    fn read(node: Node, at: &At, problems: &mut Problems) -> Option<Self> {
        let (result, shown, variable) = match node {
            Node::Value(value) => (K::from_value(&value), value.to_string(), None),
            Node::Variable { name, text } => {
                (K::from_text(&text), format!("\"{text}\""), Some(name))
            }
            Node::Table(_) => (Err(Wrong::kind::<K>("a table")), String::new(), None),
            Node::List(_) => (Err(Wrong::kind::<K>("a list")), String::new(), None),
        };
        match result {
            Ok(value) => Some(value),
            Err(Wrong { message, hint }) => {
                let message = match variable {
                    Some(name) => format!("{message}, set by {name}"),
                    None => message,
                };
                let mut problem = Problem { hint, ..Problem::error(at.as_str(), message) };
                if K::MAY_BE_SHOWN && !shown.is_empty() {
                    problem = problem.value(shown);
                }
                problems.push(problem);
                None
            }
        }
    }

    fn show(&self) -> toml::Value {
        Kind::show(self)
    }

    fn schema() -> serde_json::Value {
        <K as Kind>::schema()
    }
}

impl<T: Read> Read for Vec<T> {
    fn read(node: Node, at: &At, problems: &mut Problems) -> Option<Self> {
        let items = match node {
            Node::List(items) => items,
            Node::Variable { name, text } => variable_items(&name, &text, at, problems)?,
            Node::Table(_) => {
                let twice = format!("[[{}]]", at.as_str());
                problems.push(
                    Problem::error(at.as_str(), "is a table, but must be a list")
                        .hint(format!("an entry of a list of tables begins with {twice}")),
                );
                return None;
            }
            Node::Value(value) => {
                problems.push(
                    Problem::error(
                        at.as_str(),
                        format!("is {}, but must be a list", type_name(&value)),
                    )
                    .hint("put it between [ and ]"),
                );
                return None;
            }
        };
        let count = items.len();
        let good: Vec<T> = items
            .into_iter()
            .enumerate()
            .filter_map(|(index, item)| {
                let at = match label(&item) {
                    Some(name) => at.item(name),
                    None => at.item(index),
                };
                T::read(item, &at, problems)
            })
            .collect();
        (good.len() == count).then_some(good)
    }

    fn show(&self) -> toml::Value {
        toml::Value::Array(self.iter().map(T::show).collect())
    }

    fn schema() -> serde_json::Value {
        json!({ "type": "array", "items": T::schema() })
    }
}

/// A list in one variable: `a, b` or a TOML array.
fn variable_items(name: &str, text: &str, at: &At, problems: &mut Problems) -> Option<Vec<Node>> {
    let text = text.trim();
    if !text.starts_with('[') {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        return Some(
            items
                .map(|item| Node::Variable { name: name.to_owned(), text: item.to_owned() })
                .collect(),
        );
    }
    let parsed = format!("list = {text}").parse::<toml::Table>().ok();
    match parsed.and_then(|mut table| table.remove("list")).map(Node::from) {
        Some(Node::List(items)) => Some(items),
        Some(Node::Table(_) | Node::Value(_) | Node::Variable { .. }) | None => {
            problems.push(
                Problem::error(at.as_str(), format!("is not a list, set by {name}"))
                    .hint("write the items with commas between them"),
            );
            None
        }
    }
}

/// How an entry of a list of tables is called: by its name when it has a sane one.
fn label(item: &Node) -> Option<String> {
    let Node::Table(keys) = item else { return None };
    let name = match keys.get("name")? {
        Node::Value(value) => value.as_str()?,
        Node::Variable { text, .. } => text,
        Node::Table(_) | Node::List(_) => return None,
    };
    crate::domain::ids::HookName::new(name).ok().map(|name| name.to_string())
}

/// The keys of a section.
pub(super) fn table(
    node: Node,
    at: &At,
    problems: &mut Problems,
) -> Option<BTreeMap<String, Node>> {
    let (found, by) = match node {
        Node::Table(keys) => return Some(keys),
        Node::List(_) => ("a list".to_owned(), String::new()),
        Node::Value(value) => (type_name(&value).to_owned(), String::new()),
        Node::Variable { name, .. } => ("a text".to_owned(), format!(", set by {name}")),
    };
    problems.push(
        Problem::error(at.as_str(), format!("is {found}, but must be a table{by}"))
            .hint(format!("begin it with [{}]", at.as_str())),
    );
    None
}

/// Complains of every key that no section knows. Values are not repeated: a mistyped key may hold
/// a secret.
pub(super) fn unknown(
    rest: BTreeMap<String, Node>,
    known: &[&str],
    at: &At,
    problems: &mut Problems,
) {
    for (key, node) in rest {
        let mut variables = Vec::new();
        let only_variables = collect_variables(&node, &mut variables);
        let hint = did_you_mean(&key, known);
        if !only_variables {
            let problem = Problem::error(at.key(&key).as_str(), "is not a known key");
            problems.push(Problem { hint: hint.clone(), ..problem });
        }
        for name in variables {
            let near = nearest(&key, known).map(str::to_ascii_uppercase);
            let hint = near.map(|near| {
                let right = name.replacen(&key.to_ascii_uppercase(), &near, 1);
                format!("did you mean `{right}`?")
            });
            let problem = Problem::error(name, "is set, but names no key of the configuration");
            problems.push(Problem { hint, ..problem });
        }
    }
}

/// Names the variables below a node; tells whether there is nothing else.
fn collect_variables(node: &Node, names: &mut Vec<String>) -> bool {
    match node {
        Node::Variable { name, .. } => {
            names.push(name.clone());
            true
        }
        Node::Value(_) => false,
        Node::Table(keys) => all_variables(keys.values(), names),
        Node::List(items) => all_variables(items.iter(), names),
    }
}

fn all_variables<'a>(nodes: impl Iterator<Item = &'a Node>, names: &mut Vec<String>) -> bool {
    // Counted to the end: every variable is to be named.
    let (mut nodes_seen, mut only) = (0, 0);
    for node in nodes {
        nodes_seen += 1;
        only += usize::from(collect_variables(node, names));
    }
    nodes_seen > 0 && only == nodes_seen
}

pub(super) fn object_schema(
    about: &str,
    properties: Vec<(&str, &str, serde_json::Value)>,
) -> serde_json::Value {
    let properties: Map<String, serde_json::Value> = properties
        .into_iter()
        .map(|(key, about, mut schema)| {
            if let Some(object) = schema.as_object_mut() {
                object.insert("description".to_owned(), json!(about.trim()));
            }
            (key.to_owned(), schema)
        })
        .collect();
    json!({
        "type": "object",
        "description": about.trim(),
        "properties": properties,
        "additionalProperties": false,
    })
}

fn type_name(value: &toml::Value) -> &'static str {
    match value {
        toml::Value::String(_) => "a text",
        toml::Value::Integer(_) => "a whole number",
        toml::Value::Float(_) => "a number with a fraction",
        toml::Value::Boolean(_) => "true or false",
        toml::Value::Datetime(_) => "a date",
        toml::Value::Array(_) => "a list",
        toml::Value::Table(_) => "a table",
    }
}
