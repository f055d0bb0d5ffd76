//! The bare floor: signature checked, bytes appended, one `fdatasync` for all that wait.

use std::{
    convert::Infallible,
    fs::OpenOptions,
    io::Write,
    net::SocketAddr,
    path::Path,
    sync::{Arc, mpsc},
    thread,
};

use aws_lc_rs::hmac::{self, HMAC_SHA256, Key};
use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, sync::oneshot};

type Queue = mpsc::Sender<(Bytes, oneshot::Sender<()>)>;

/// Serves until the process is killed.
pub(crate) fn serve(address: SocketAddr, file: &Path, secret: &[u8]) {
    let mut file = OpenOptions::new().create(true).append(true).open(file).unwrap();
    let (queue, waiting) = mpsc::channel::<(Bytes, oneshot::Sender<()>)>();
    thread::spawn(move || {
        let (mut bytes, mut answers) = (Vec::new(), Vec::new());
        while let Ok(first) = waiting.recv() {
            for (body, answer) in std::iter::once(first).chain(waiting.try_iter()) {
                bytes.extend_from_slice(&body);
                answers.push(answer);
            }
            file.write_all(&bytes).unwrap();
            file.sync_data().unwrap();
            bytes.clear();
            for answer in answers.drain(..) {
                let _ = answer.send(());
            }
        }
    });
    let key = Arc::new(Key::new(HMAC_SHA256, secret));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind(address).await.unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let _ = stream.set_nodelay(true);
            let (queue, key) = (queue.clone(), Arc::clone(&key));
            tokio::spawn(async move {
                let service = service_fn(|request| answer(request, &queue, &key));
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
        }
    });
}

async fn answer(
    request: Request<Incoming>,
    queue: &Queue,
    key: &Key,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let signature = parts.headers["x-hub-signature-256"].to_str().unwrap();
    let tag = hex::decode(signature.trim_start_matches("sha256=")).unwrap();
    let mut response = Response::new(Full::default());
    if hmac::verify(key, &body, &tag).is_ok() {
        let (written, on_disk) = oneshot::channel();
        queue.send((body, written)).unwrap();
        on_disk.await.unwrap();
        *response.status_mut() = StatusCode::ACCEPTED;
    } else {
        *response.status_mut() = StatusCode::UNAUTHORIZED;
    }
    Ok(response)
}
