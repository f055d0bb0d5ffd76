//! One mistake at a time: each gets its message, with what would be right.

use super::{World, with};

/// (further keys of the hook, further sections, what is said first)
const CASES: &[(&str, &str, &str)] = &[
    // names and paths
    (
        "[[hooks]]\nname = \"ci\"\npath = \"/x\"\napp_id = 1\nprivate_key_file = \"ci.pem\"\nwebhook_secret_files = [\"ci.secret\"]",
        "",
        "error: hooks[1].name = \"ci\": is the name of another hook too",
    ),
    (
        "[[hooks]]\nname = \"b\"\napp_id = 1\nprivate_key_file = \"ci.pem\"\nwebhook_secret_files = [\"ci.secret\"]",
        "",
        "error: hooks[1].path = \"/webhook\": is the path of another hook too",
    ),
    ("path = \"webhook\"", "", "error: hooks[ci].path = \"webhook\": must begin with /"),
    ("path = \"/a b\"", "", "error: hooks[ci].path = \"/a b\": must not contain spaces"),
    ("path = \"/a?b\"", "", "error: hooks[ci].path = \"/a?b\": must not contain ? or #"),
    // who we are
    ("client_id = \"Iv23liAbCdEf\"", "", "error: hooks[ci].client_id: stands beside app_id"),
    (
        "kind = \"organization\"",
        "",
        "error: hooks[ci].kind = \"organization\": is not supported yet; only kind = \"app\" is",
    ),
    ("kind = \"repository\"", "", "error: hooks[ci].kind = \"repository\": is not supported yet"),
    (
        "kind = \"ap\"",
        "",
        "error: hooks[ci].kind = \"ap\": must be one of app, organization, repository (did you mean `app`?)",
    ),
    ("hook_id = 55", "", "error: hooks[ci].hook_id: is for organizations and repositories only"),
    // the API
    (
        "api_url = \"https://github.com\"",
        "",
        "error: hooks[ci].api_url = \"https://github.com/\": is not the API (use https://api.github.com)",
    ),
    (
        "api_url = \"http://ghes.example/api/v3\"",
        "",
        "error: hooks[ci].api_url = \"http://ghes.example/api/v3\": is plain http to another machine",
    ),
    (
        "api_url = \"https://ghes.example\"",
        "",
        "warning: hooks[ci].api_url = https://ghes.example/: names a GitHub Enterprise Server",
    ),
    (
        "api_url = \"api.github.com\"",
        "",
        "error: hooks[ci].api_url: is not a URL (for example \"https://api.github.com\")",
    ),
    // rules; W20
    (
        "window = \"30d\"",
        "[retention]\nhistory = \"60d\"",
        "warning: hooks[ci].window: is longer than GitHub keeps deliveries there: 3 days",
    ),
    (
        "api_url = \"https://g.example/api/v3\"\nwindow = \"8d\"",
        "",
        "warning: hooks[ci].window: is longer than GitHub keeps deliveries there: 7 days",
    ),
    ("window = \"0s\"", "", "error: hooks[ci].window = \"0s\": must be longer than zero"),
    (
        "trust = \"reciept\"",
        "",
        "error: hooks[ci].trust = \"reciept\": must be one of receipt, github, both (did you mean `receipt`?)",
    ),
    (
        "trust = \"github\"\nrepair = \"fetch\"",
        "",
        "error: hooks[ci].repair = \"fetch\": needs trust = \"receipt\"",
    ),
    ("first_run = \"4d\"", "", "warning: hooks[ci].first_run: is longer than the window"),
    ("allow_sha1 = \"yes\"", "", "error: hooks[ci].allow_sha1 = \"yes\": is not true or false"),
    (
        "",
        "[hooks.filter]\nrepositories = [\"acme/widgets\"]",
        "error: hooks[ci].filter.repositories[0] = \"acme/widgets\": is not a positive whole number (the delivery list has ids only, no names: write the id)",
    ),
    (
        "",
        "[hooks.filter]\ninclude = [\"*\"]",
        "error: hooks[ci].filter.include[0] = \"*\": has a wildcard",
    ),
    (
        "",
        "[hooks.filter]\nexclude = [\"a.b.c\"]",
        "error: hooks[ci].filter.exclude[0] = \"a.b.c\": is not an event or an event with its action",
    ),
    (
        "",
        "[hooks.filter]\ninclude = \"push\"",
        "error: hooks[ci].filter.include: is a text, but must be a list",
    ),
    // hand-over
    (
        "forward = \"http://127.0.0.1:3000\"",
        "",
        "error: hooks[ci].forward: is a text, but must be a table (begin it with [hooks[ci].forward])",
    ),
    (
        "",
        "[hooks.forward]\nurl = \"http://app:3000/\"",
        "error: hooks[ci].forward.url = \"http://app:3000/\": is plain http to another machine",
    ),
    (
        "",
        "[hooks.forward]\nurl = \"https://a.example\"\nlease = \"30s\"",
        "error: hooks[ci].forward.lease: must be longer than the timeout",
    ),
    (
        "",
        "[hooks.forward]\nurl = \"https://a.example\"\nconcurrency = 0",
        "error: hooks[ci].forward.concurrency = 0: must be at least 1",
    ),
    (
        "",
        "[hooks.forward]\nurl = \"https://a.example\"\nbackoff = []",
        "error: hooks[ci].forward.backoff: is empty",
    ),
    // sizes and listeners
    (
        "",
        "[receiver]\nmax_body = \"25 Mibs\"",
        "error: receiver.max_body = \"25 Mibs\": is not a size (for example \"25MiB\")",
    ),
    ("", "[receiver]\nmax_body = \"0B\"", "error: receiver.max_body: must be more than zero"),
    (
        "",
        "[receiver]\nmax_body = \"1GiB\"",
        "error: receiver.max_bodies_in_flight: must not be less than receiver.max_body, or no large \
         body ever fits",
    ),
    (
        "",
        "[receiver]\nmax_bodies_in_flight = \"24MiB\"",
        "error: receiver.max_bodies_in_flight: must not be less than receiver.max_body, or no large \
         body ever fits (raise it to several times receiver.max_body, or lower that)",
    ),
    (
        "",
        "[receiver]\nbody_timeout = \"10\"",
        "error: receiver.body_timeout = \"10\": is not a duration",
    ),
    (
        "",
        "[admin]\nlisten = \"0.0.0.0:9090\"",
        "error: admin.token_file: is missing: 0.0.0.0:9090 can be reached from other machines",
    ),
    (
        "",
        "[admin]\nlisten = \"127.0.0.1:8080\"",
        "error: admin.listen: is the receiver's address too",
    ),
    // sweeping
    (
        "",
        "[sweep]\nschedule = \"0 0 0 30 2 *\"",
        "error: sweep.schedule = \"0 0 0 30 2 *\": never comes",
    ),
    ("", "[sweep]\nsettle = \"0s\"", "error: sweep.settle = \"0s\": must be longer than zero"),
    ("", "[sweep]\nsettle = \"20y\"", "error: sweep.settle = \"20y\": is too long (at most 3650d)"),
    ("", "[sweep]\nbackoff = [\"1m\", \"0s\"]", "error: sweep.backoff: has a wait of zero"),
    (
        "",
        "[sweep]\nbackoff = [\"1m\", 5]",
        "error: sweep.backoff[1] = 5: is a whole number, but must be a duration",
    ),
    ("", "[sweep]\nmax_pages = 1", "error: sweep.max_pages = 1: must be at least 2"),
    ("", "[sweep]\nmax_pages = -1", "error: sweep.max_pages = -1: is not a whole number from 0"),
    ("", "[sweep]\nmax_redeliveries = 0", "error: sweep.max_redeliveries = 0: must be at least 1"),
    ("", "[sweep]\nmax_requests = 0", "error: sweep.max_requests = 0: must be at least 1"),
    ("", "[sweep]\nprobes = 0", "error: sweep.probes = 0: must be at least 1"),
    ("", "[sweep]\nlease = \"9s\"", "error: sweep.lease: is too short"),
    // D24
    (
        "",
        "[retention]\nhistory = \"95h\"",
        "error: retention.history: is shorter than the longest window and a day, so that a redelivery could be taken for a new event (at least \"96h\")",
    ),
    // the rest
    (
        "",
        "[database]\nurl = \"mysql://h/db\"",
        "error: database.url: is neither a sqlite: nor a postgres: URL",
    ),
    (
        "",
        "[database]\nurl = \"postgres://u@h/db?sslpassword=x\"",
        "error: database.url: has a parameter that is not known (",
    ),
    ("", "[database]\nurl = \"sqlite::memory:\"", "error: database.url: must name a file"),
    (
        "",
        "[log]\nlevel = \"debgu\"",
        "error: log.level = \"debgu\": must be one of off, error, warn, info, debug, trace (did you mean `debug`?)",
    ),
    ("", "[log]\nformat = \"xml\"", "error: log.format = \"xml\": must be one of auto, text, json"),
    ("", "[swep]\nsettle = \"1m\"", "error: swep: is not a known key (did you mean `sweep`?)"),
    (
        "",
        "[alerts]\nheartbeat_url = \"http://h.example\"",
        "error: alerts.heartbeat_url: is plain http",
    ),
    (
        "",
        "[[alerts.channels]]\nkind = \"slack\"\nurl = \"https://a.example\"",
        "error: alerts.channels[0].url: is not a key of kind = \"slack\" (its keys are url_file)",
    ),
    (
        "",
        "[[alerts.channels]]\nkind = \"webhook\"\nurl = \"https://a.example\"",
        "error: alerts.channels[0].secret_file: is missing",
    ),
    ("", "[[alerts.channels]]\nurls = []", "error: alerts.channels[0].kind: is missing"),
];

#[test]
fn each_mistake_is_said_with_key_value_and_remedy() {
    for (hook, sections, first) in CASES {
        let said = World::new().said(&with(hook, sections));
        let found = said.first().map_or("nothing", String::as_str);
        assert!(found.starts_with(first), "{hook}{sections}\nwanted {first}\nfound  {found}");
    }
}
