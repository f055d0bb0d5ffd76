//! The part of a service manager that the tests play: a notify socket, and sockets passed on.

use std::{
    net::TcpListener,
    os::{
        fd::OwnedFd,
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram as Bound},
    },
    process::{Command, Stdio},
    time::Duration,
};

use tokio::net::UnixDatagram;

use crate::support::daemon::Rig;

/// The longest that a message is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// A notify socket as systemd has one.
pub struct Manager {
    socket: UnixDatagram,
    name: String,
}

impl Manager {
    pub fn new(rig: &Rig) -> Self {
        let path = rig.dir.path().join("notify.sock");
        let socket = UnixDatagram::bind(&path).unwrap();
        Self { socket, name: path.display().to_string() }
    }

    /// The same in the abstract namespace, which has no files.
    pub fn without_file(rig: &Rig) -> Self {
        let name = rig.dir.path().join("notify").display().to_string();
        let socket = Bound::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { socket: UnixDatagram::from_std(socket).unwrap(), name: format!("@{name}") }
    }

    /// `serve` as this manager starts it, with sockets for `receiver` and `admin` where given.
    /// The shell is there because `LISTEN_PID` must be the process's own id.
    pub fn command(
        &self,
        rig: &Rig,
        receiver: Option<&TcpListener>,
        admin: Option<&TcpListener>,
    ) -> Command {
        let names: Vec<_> =
            [receiver.map(|_| "receiver"), admin.map(|_| "admin")].into_iter().flatten().collect();
        let passing = match (receiver, admin) {
            (None, None) => "exec </dev/null >/dev/null",
            (Some(_), None) => "exec 3<&0 </dev/null >/dev/null",
            (None, Some(_)) => "exec 3<&1 </dev/null >/dev/null",
            (Some(_), Some(_)) => "exec 3<&0 4<&1 </dev/null >/dev/null",
        };
        let script = format!(
            "{passing}; export LISTEN_PID=$$; exec {} --config {} serve",
            env!("CARGO_BIN_EXE_redeliverd"),
            rig.config().display()
        );
        let mut command = Command::new("/bin/sh");
        command.env_clear().env("PATH", "/usr/bin:/bin").args(["-c", &script]);
        command.env("NOTIFY_SOCKET", &self.name);
        if !names.is_empty() {
            command.env("LISTEN_FDS", names.len().to_string());
            command.env("LISTEN_FDNAMES", names.join(":"));
        }
        command.stdin(passed(receiver)).stdout(passed(admin));
        command
    }

    /// The next message.
    pub async fn next(&self) -> String {
        let mut buffer = vec![0; 4096];
        let read = tokio::time::timeout(PATIENCE, self.socket.recv(&mut buffer)).await;
        let length = read.expect("the daemon says something in time").unwrap();
        String::from_utf8(buffer[..length].to_vec()).unwrap()
    }

    /// All messages up to the one that has the line `word`, that one last.
    pub async fn until(&self, word: &str) -> Vec<String> {
        self.until_one(word, |message| message.lines().any(|line| line == word)).await
    }

    /// All messages up to the one that `part` is found in, that one last.
    pub async fn until_it_holds(&self, part: &str) -> Vec<String> {
        self.until_one(part, |message| message.contains(part)).await
    }

    async fn until_one(&self, what: &str, is: impl Fn(&str) -> bool) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let message = self.next().await;
            let found = is(&message);
            seen.push(message);
            if found {
                return seen;
            }
            assert!(seen.len() < 200, "never {what}: {seen:?}");
        }
    }
}

fn passed(listener: Option<&TcpListener>) -> Stdio {
    listener.map_or_else(Stdio::null, |listener| {
        Stdio::from(OwnedFd::from(listener.try_clone().unwrap()))
    })
}
