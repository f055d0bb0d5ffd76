//! The webhook sender: one POST as GitHub makes it, and what GitHub writes down about it.

use std::{sync::Arc, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use chrono::{DateTime, SubsecRound, Utc};
use reqwest::Response;
use secrecy::ExposeSecret;
use tokio::{sync::watch, task::JoinHandle, time::Instant};

use super::{
    counters::Post,
    events::Event,
    faults::{Sending, TimeOutForm, Unsettled},
    hook::{ContentType, Hook, HookRef},
    log::{LoggedAttempt, ReceiverAnswer, base_id, status_text},
    signature,
    world::{State, World},
};

/// How much of a receiver's answer is kept.
const ANSWER_LIMIT: usize = 64 * 1024;

/// One attempt, decided but not made. Counts as in flight until dropped.
pub(super) struct Job {
    hook: HookRef,
    row: LoggedAttempt,
    body: Vec<u8>,
    sending: Sending,
    time_out_form: TimeOutForm,
    _in_flight: InFlight,
}

struct InFlight(watch::Sender<usize>);

impl InFlight {
    fn new(count: &watch::Sender<usize>) -> Self {
        count.send_modify(|n| *n += 1);
        Self(count.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.send_modify(|n| *n -= 1);
    }
}

/// Whether a POST really left, and how it was answered.
#[derive(Debug, Clone, Copy)]
enum Wire {
    NotSent,
    Answered(u16),
    /// Sent, or at least begun, without a complete answer.
    Unanswered,
}

/// What GitHub writes down, and what really happened.
struct Outcome {
    status: String,
    code: u16,
    duration: Duration,
    answer: Option<ReceiverAnswer>,
    wire: Wire,
}

impl World {
    /// Decides one attempt: id, URL, signature, fault. `None` for a hook of another world.
    pub(super) fn begin(
        &self,
        hook: HookRef,
        guid: &str,
        event: &Arc<Event>,
        redelivery: bool,
        sending: Option<Sending>,
    ) -> Option<Job> {
        let now = self.now();
        let mut state = self.state();
        state.hooks.get(hook.0)?;
        let id = state.new_id(base_id(now));
        let sending = sending.unwrap_or_else(|| state.faults.next_sending(guid));
        let State { hooks, faults, .. } = &*state;
        let target = hooks.get(hook.0)?;
        let config = &target.setup.config;
        let body = body(config.content_type, &event.payload);
        let row = LoggedAttempt {
            id,
            guid: guid.to_owned(),
            event: Arc::clone(event),
            delivered_at: now.trunc_subsecs(3),
            redelivery,
            duration: 0.0,
            status: String::new(),
            code: None,
            throttled_at: faults.throttled.then(|| now.trunc_subsecs(3)),
            url: config.url.clone(),
            headers: headers(self, target, guid, event, &body, faults.leak_secret),
            answer: None,
            listed_from: None,
            unsettled: None,
        };
        Some(Job {
            hook,
            row,
            body,
            sending,
            time_out_form: faults.time_out_form,
            _in_flight: InFlight::new(&self.0.in_flight),
        })
    }

    /// Makes the attempt as a task of the world; it ends when the world is stopped.
    pub(super) fn carry_out_in_background(&self, job: Job) -> JoinHandle<()> {
        let world = self.clone();
        self.0.tasks.spawn(async move {
            let stop = world.0.stop.clone();
            tokio::select! {
                () = world.carry_out(job) => {}
                () = stop.cancelled() => {}
            }
        })
    }

    /// Makes the attempt and writes down its outcome.
    pub(super) async fn carry_out(&self, mut job: Job) {
        let outcome = self.attempt(&job).await;
        let now = self.now();
        let mut state = self.state();
        let state = &mut *state;
        let answer = match outcome.wire {
            Wire::NotSent => None,
            Wire::Answered(code) => Some(Some(code)),
            Wire::Unanswered => Some(None),
        };
        if let Some(answer) = answer {
            let post = Post { attempt: job.row.id, redelivery: job.row.redelivery, answer };
            state.posts.entry(job.row.guid.clone()).or_default().push(post);
        }
        job.row.status = outcome.status;
        job.row.code = Some(i32::from(outcome.code));
        job.row.duration = (outcome.duration.as_secs_f64() * 100.0).round() / 100.0;
        job.row.answer = outcome.answer;
        job.row.listed_from = later(now, state.faults.list_lag);
        job.row.unsettled =
            state.faults.unsettled.map(|(time, how): (_, Unsettled)| (now + time, how));
        if let Some(hook) = state.hooks.get_mut(job.hook.0) {
            state.counters.attempts_made += 1;
            hook.log.insert(job.row);
        }
    }

    async fn attempt(&self, job: &Job) -> Outcome {
        let limit = self.0.settings.time_limit;
        match job.sending {
            Sending::Deliver => self.deliver(job, limit).await,
            Sending::FailToConnect => unsent("failed to connect to host", 502),
            Sending::TimeOut { after_delivering } => {
                let wire = self.maybe(job, limit, after_delivering).await;
                Outcome { wire, duration: limit, ..timed_out(job) }
            }
            Sending::Reset { after_delivering } => {
                let wire = self.maybe(job, limit, after_delivering).await;
                Outcome { wire, ..unsent(&giving_up(&job.row.url, "EOF"), 500) }
            }
            Sending::Swallow => unsent("OK", 200),
            Sending::Answer(code) => unsent(&status_text(code), code),
        }
    }

    async fn maybe(&self, job: &Job, limit: Duration, deliver: bool) -> Wire {
        if deliver { self.deliver(job, limit).await.wire } else { Wire::NotSent }
    }

    async fn deliver(&self, job: &Job, limit: Duration) -> Outcome {
        let began = Instant::now();
        let request = self.0.http.post(&job.row.url).timeout(limit).body(job.body.clone());
        let request =
            job.row.headers.iter().fold(request, |r, (name, value)| r.header(name, value));
        let result = match request.send().await {
            Ok(response) => read(response).await,
            Err(error) => Err(error),
        };
        let outcome = match result {
            Ok((code, answer)) => Outcome {
                answer: Some(answer),
                wire: Wire::Answered(code),
                ..unsent(&status_text(code), code)
            },
            Err(error) if error.is_connect() || error.is_builder() => {
                unsent("failed to connect to host", 502)
            }
            Err(error) if error.is_timeout() => {
                Outcome { wire: Wire::Unanswered, ..timed_out(job) }
            }
            Err(_) => {
                Outcome { wire: Wire::Unanswered, ..unsent(&giving_up(&job.row.url, "EOF"), 500) }
            }
        };
        Outcome { duration: began.elapsed(), ..outcome }
    }
}

fn unsent(status: &str, code: u16) -> Outcome {
    Outcome {
        status: status.to_owned(),
        code,
        duration: Duration::ZERO,
        answer: None,
        wire: Wire::NotSent,
    }
}

fn timed_out(job: &Job) -> Outcome {
    match job.time_out_form {
        TimeOutForm::TimedOut => unsent("timed out", 504),
        TimeOutForm::GivingUp => {
            let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            unsent(&giving_up(&job.row.url, why), 500)
        }
    }
}

fn giving_up(url: &str, why: &str) -> String {
    format!("POST {url} giving up after 1 attempt(s): Post \"{url}\": {why}")
}

async fn read(mut response: Response) -> Result<(u16, ReceiverAnswer), reqwest::Error> {
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        let room = ANSWER_LIMIT - body.len();
        body.extend(chunk.iter().take(room));
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok((response.status().as_u16(), ReceiverAnswer { headers, body }))
}

fn later(now: DateTime<Utc>, lag: chrono::TimeDelta) -> Option<DateTime<Utc>> {
    (!lag.is_zero()).then(|| now + lag)
}

/// The bytes that are sent and signed.
pub(super) fn body(content_type: ContentType, payload: &[u8]) -> Vec<u8> {
    match content_type {
        ContentType::Json => payload.to_vec(),
        ContentType::Form => {
            let mut body = b"payload=".to_vec();
            for piece in form_urlencoded::byte_serialize(payload) {
                body.extend_from_slice(piece.as_bytes());
            }
            body
        }
    }
}

/// The headers of GITHUB.md section 5.
fn headers(
    world: &World,
    hook: &Hook,
    guid: &str,
    event: &Event,
    body: &[u8],
    leak_secret: bool,
) -> Vec<(String, String)> {
    let secret = hook.setup.config.secret.expose_secret();
    let mut headers = vec![
        ("Accept", "*/*".to_owned()),
        ("Content-Type", hook.setup.config.content_type.header().to_owned()),
        ("User-Agent", "GitHub-Hookshot/5a1dbc7".to_owned()),
        ("X-GitHub-Delivery", guid.to_owned()),
        ("X-GitHub-Event", event.name.clone()),
        ("X-GitHub-Hook-ID", hook.hook_id().to_string()),
        ("X-GitHub-Hook-Installation-Target-ID", hook.setup.app_id.to_string()),
        ("X-GitHub-Hook-Installation-Target-Type", "integration".to_owned()),
    ];
    if world.0.settings.enterprise {
        headers.push(("X-GitHub-Enterprise-Host", "github.sandbox.test".to_owned()));
        headers.push(("X-GitHub-Enterprise-Version", "3.19.0".to_owned()));
    }
    if !secret.is_empty() {
        headers.push(("X-Hub-Signature", signature::sha1(secret, body)));
        headers.push(("X-Hub-Signature-256", signature::sha256(secret, body)));
    }
    if leak_secret {
        headers.push(("X-Github-Encoded-Secret", STANDARD.encode(secret)));
    }
    headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
