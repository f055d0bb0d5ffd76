//! OpenMetrics text turned into the older Prometheus text format, for whoever does not ask for the newer one.

/// The same families and samples. In the older format a counter carries `_total` in its header as
/// well, an info metric is a gauge, and nothing marks the end.
#[must_use]
pub fn plain(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    // A family's help comes before its type, which decides the name in both.
    let mut help = None;
    for line in open_metrics.lines() {
        if let Some(described) = line.strip_prefix("# HELP ") {
            help = described.split_once(' ').map(|(_, words)| words);
        } else if let Some(declared) = line.strip_prefix("# TYPE ") {
            let (name, kind) = declared.split_once(' ').unwrap_or((declared, "untyped"));
            let (suffix, kind) = match kind {
                "counter" => ("_total", "counter"),
                "info" => ("_info", "gauge"),
                other => ("", other),
            };
            if let Some(words) = help.take() {
                push(&mut text, &["# HELP ", name, suffix, " ", words]);
            }
            push(&mut text, &["# TYPE ", name, suffix, " ", kind]);
        } else if !line.starts_with('#') {
            push(&mut text, &[line]);
        }
    }
    text
}

fn push(text: &mut String, parts: &[&str]) {
    text.extend(parts.iter().copied());
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::plain;

    #[test]
    fn names_and_kinds_become_those_of_the_older_format() {
        let open_metrics = "# HELP a_build The version.\n# TYPE a_build info\n\
             a_build_info{version=\"1\"} 1\n# HELP a_calls Calls made.\n# TYPE a_calls counter\n\
             a_calls_total{hook=\"ci\"} 3\n# HELP a_age_seconds An age.\n\
             # TYPE a_age_seconds gauge\na_age_seconds NaN\n# EOF\n";
        assert_eq!(
            plain(open_metrics),
            "# HELP a_build_info The version.\n# TYPE a_build_info gauge\n\
             a_build_info{version=\"1\"} 1\n# HELP a_calls_total Calls made.\n\
             # TYPE a_calls_total counter\na_calls_total{hook=\"ci\"} 3\n\
             # HELP a_age_seconds An age.\n# TYPE a_age_seconds gauge\na_age_seconds NaN\n"
        );
    }
}
