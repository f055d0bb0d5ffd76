//! A mail server on loopback that speaks TLS and keeps what it is given.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::aws_lc_rs,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

/// The server; stops with the test.
pub struct Smtp {
    pub port: u16,
    /// The certificate that clients must trust.
    pub certificate: PathBuf,
    said: Arc<Mutex<Vec<String>>>,
}

/// Whether the connection is encrypted from its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    Encrypted,
    Clear,
}

impl Smtp {
    pub async fn start(dir: &Path, begin: Begin) -> Self {
        let (certificate, key) = make_certificate(dir);
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![CertificateDer::from_pem_file(&certificate).unwrap()],
                PrivateKeyDer::from_pem_file(&key).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let said = Arc::<Mutex<Vec<String>>>::default();
        let lines = Arc::clone(&said);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                // A client that leaves in the middle is what a test may be about.
                let _ = serve(stream, &acceptor, begin, &lines).await;
            }
        });
        Self { port, certificate, said }
    }

    /// Every line that came encrypted.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().unwrap().clone()
    }
}

fn make_certificate(dir: &Path) -> (PathBuf, PathBuf) {
    let (certificate, key, config) =
        (dir.join("smtp.crt"), dir.join("smtp.key"), dir.join("smtp.cnf"));
    let text = "[req]\ndistinguished_name = dn\nx509_extensions = ext\nprompt = no\n[dn]\n\
                CN = mail\n[ext]\nsubjectAltName = IP:127.0.0.1\nbasicConstraints = CA:FALSE\n";
    fs::write(&config, text).unwrap();
    let output = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-config"])
        .arg(&config)
        .arg("-keyout")
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .expect("openssl is installed");
    assert!(output.status.success(), "{output:?}");
    (certificate, key)
}

async fn serve(
    stream: TcpStream,
    acceptor: &TlsAcceptor,
    begin: Begin,
    lines: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let stream = match begin {
        Begin::Encrypted => stream,
        Begin::Clear => {
            let mut stream = BufReader::new(stream);
            stream.write_all(b"220 mail\r\n").await?;
            let mut line = String::new();
            loop {
                line.clear();
                if stream.read_line(&mut line).await? == 0 {
                    return Ok(());
                }
                if line.starts_with("STARTTLS") {
                    stream.write_all(b"220 go\r\n").await?;
                    break stream.into_inner();
                }
                stream.write_all(b"250-mail\r\n250 STARTTLS\r\n").await?;
            }
        }
    };
    let mut stream = acceptor.accept(stream).await?;
    if begin == Begin::Encrypted {
        stream.write_all(b"220 mail\r\n").await?;
    }
    converse(stream, lines).await
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    lines: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut in_data = false;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let line = line.trim_end().to_owned();
        let answer = match line.split(' ').next().unwrap_or_default() {
            "." if in_data => {
                in_data = false;
                "250 taken\r\n"
            }
            _ if in_data => "",
            "EHLO" => "250-mail\r\n250 AUTH PLAIN LOGIN\r\n",
            "AUTH" => "235 welcome\r\n",
            "DATA" => {
                in_data = true;
                "354 go on\r\n"
            }
            "QUIT" => "221 bye\r\n",
            _ => "250 fine\r\n",
        };
        lines.lock().unwrap().push(line);
        stream.write_all(answer.as_bytes()).await?;
        stream.flush().await?;
    }
}
