//! Channels that take a connection and never answer: they are in nobody's way.

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use redeliverd::sandbox::github::{Redelivering, Sending};
use tokio::net::{TcpListener, TcpStream};

use crate::support::daemon::Rig;

/// What a channel may take to answer; no stop may take so long.
const PATIENCE: Duration = Duration::from_secs(10);

/// Takes every connection and says nothing.
struct Hole {
    address: String,
    taken: Arc<Mutex<Vec<TcpStream>>>,
}

impl Hole {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let taken = Arc::<Mutex<Vec<TcpStream>>>::default();
        let kept = Arc::clone(&taken);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                kept.lock().unwrap().push(stream);
            }
        });
        Self { address, taken }
    }

    fn hangs(&self) -> bool {
        !self.taken.lock().unwrap().is_empty()
    }
}

/// The receiver is down while the daemon ends, so a restart must not take a channel's time.
#[tokio::test(flavor = "multi_thread")]
async fn channels_that_hang_do_not_keep_the_daemon_from_ending() {
    let (heartbeat, chat, mail) = (Hole::start().await, Hole::start().await, Hole::start().await);
    let mut rig = Rig::new(&format!(
        "[alerts]\ncheck_every = \"200ms\"\nmissing_after = \"1s\"\n\
         heartbeat_url = \"http://{}/beat\"\n\
         [[alerts.channels]]\nkind = \"slack\"\nurl_file = \"slack.url\"\n\
         [[alerts.channels]]\nkind = \"email\"\nsmtp_url_file = \"smtp.url\"\n\
         from = \"redeliverd@example.com\"\nto = \"oncall@example.com\"\ntls = \"starttls\"\n",
        heartbeat.address
    ))
    .await;
    let url = format!("http://{}/services/T/B/path", chat.address);
    fs::write(rig.dir.path().join("slack.url"), url).unwrap();
    fs::write(rig.dir.path().join("smtp.url"), format!("smtp://{}", mail.address)).unwrap();
    rig.serve().await;
    rig.world.faults(|faults| faults.api.redeliver = Redelivering::Forget);
    let event = rig.next_event();
    rig.world.emit_as(rig.hook, event, Sending::FailToConnect).await;
    for (name, hole) in [("the heartbeat", &heartbeat), ("the chat", &chat), ("the mail", &mail)] {
        rig.eventually(&format!("{name} hangs"), async |_| hole.hangs()).await;
    }
    let asked = Instant::now();
    assert_eq!(rig.terminate().await, Some(0));
    assert!(asked.elapsed() < PATIENCE / 2, "it took {:?}", asked.elapsed());
}
