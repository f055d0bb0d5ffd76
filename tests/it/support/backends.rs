//! A store on either database, empty and of its own for every test.

use redeliverd::{
    config::{Database, Migrate},
    store::Store,
};
use secrecy::SecretString;
use tempfile::TempDir;

use super::postgres;

/// An empty database; its file, if it has one, lives as long as this value.
pub(crate) struct Backend {
    url: String,
    _directory: Option<TempDir>,
}

/// A new SQLite file.
pub(crate) fn sqlite() -> Backend {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let url = format!("sqlite:{}", directory.path().join("test.db").display());
    Backend { url, _directory: Some(directory) }
}

/// A new database on the PostgreSQL server of this process.
pub(crate) async fn postgres() -> Backend {
    Backend { url: postgres::new_database().await, _directory: None }
}

impl Backend {
    /// Its URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The settings that open it.
    pub(crate) fn settings(&self, migrate: Migrate) -> Database {
        Database { url: SecretString::from(self.url.clone()), migrate }
    }

    /// A new handle, as another process would have one.
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.settings(Migrate::Auto)).await.expect("the store opens")
    }
}

/// Makes `sqlite::name` and `postgres::name` of every `async fn name(backend: Backend)`.
macro_rules! on_both {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::support::backends::sqlite()).await;
            })+
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::support::backends::postgres().await).await;
            })+
        }
    };
}
pub(crate) use on_both;
