//! Brings the schema up to date: forward only, all or nothing, one process at a time.

use sqlx::{
    Connection as _,
    migrate::{Migrate as _, MigrateError, Migrator},
};

use super::{
    Result, StoreError,
    backend::Backend,
    dialect::{
        POSTGRES_BEGIN, POSTGRES_HAS_MIGRATIONS, POSTGRES_MIGRATION_GUARD, SQLITE_BEGIN,
        SQLITE_HAS_MIGRATIONS, SQLITE_MIGRATION_GUARD,
    },
};
use crate::config::{Database, Migrate};

/// Where sqlx notes what was applied.
const TABLE: &str = "_sqlx_migrations";

/// The migrations of SQLite and of PostgreSQL; same numbers, same names.
pub static MIGRATORS: [Migrator; 2] =
    [sqlx::migrate!("migrations/sqlite"), sqlx::migrate!("migrations/postgres")];

/// Connects and sees to it that the schema is the one this program knows.
pub(super) async fn connect(settings: &Database) -> Result<Backend> {
    match settings.migrate {
        Migrate::Auto => {
            let backend = Backend::connect(settings, true).await?;
            if pending(&backend).await? > 0 {
                apply(&backend).await?;
            }
            Ok(backend)
        }
        Migrate::Manual => {
            if !Backend::exists(settings) {
                let [sqlite, _] = &MIGRATORS;
                return Err(StoreError::Pending { pending: sqlite.iter().count() });
            }
            let backend = Backend::connect(settings, false).await?;
            match pending(&backend).await? {
                0 => Ok(backend),
                pending => Err(StoreError::Pending { pending }),
            }
        }
    }
}

/// Applies what is pending, whatever the settings say about doing so unasked.
pub(super) async fn run(settings: &Database) -> Result<usize> {
    let backend = Backend::connect(settings, true).await?;
    let ran = match pending(&backend).await {
        Ok(0) => Ok(0),
        Ok(_) => apply(&backend).await,
        Err(error) => Err(error),
    };
    backend.close().await;
    ran
}

/// How many migrations are to be applied. Creates and changes nothing.
pub(super) async fn lacking(settings: &Database) -> Result<usize> {
    let backend = Backend::connect(settings, false).await?;
    let lacking = pending(&backend).await;
    backend.close().await;
    lacking
}

/// Pastes into both arms with the arm's own words: connection pool, migrator, SQL.
macro_rules! each {
    ($backend:expr, |$pool:ident, $migrator:ident, $begin:ident, $guard:ident, $has:ident| $body:expr) => {{
        let [sqlite, postgres] = &MIGRATORS;
        match $backend {
            Backend::Sqlite { write: $pool, .. } => {
                let ($migrator, $begin, $guard, $has) =
                    (sqlite, SQLITE_BEGIN, SQLITE_MIGRATION_GUARD, SQLITE_HAS_MIGRATIONS);
                $body
            }
            Backend::Postgres($pool) => {
                let ($migrator, $begin, $guard, $has) =
                    (postgres, POSTGRES_BEGIN, POSTGRES_MIGRATION_GUARD, POSTGRES_HAS_MIGRATIONS);
                $body
            }
        }
    }};
}

/// How many migrations are still to be applied. Takes no lock and changes nothing.
async fn pending(backend: &Backend) -> Result<usize> {
    each!(backend, |pool, migrator, _begin, _guard, has| {
        let mut connection = pool.acquire().await?;
        let tables: i64 = sqlx::query_scalar(has).fetch_one(&mut *connection).await?;
        let applied = if tables == 0 {
            Vec::new()
        } else {
            connection.list_applied_migrations(TABLE).await.map_err(failed)?
        };
        if let Some(newer) = applied.iter().find(|a| !migrator.version_exists(a.version)) {
            return Err(failed(MigrateError::VersionMissing(newer.version)));
        }
        Ok(migrator.iter().count() - applied.len())
    })
}

/// Applies what is pending in one transaction, so that a failure leaves nothing half done and no
/// lock behind. Returns how many ran: none when another process was faster.
async fn apply(backend: &Backend) -> Result<usize> {
    each!(backend, |pool, migrator, begin, guard, _has| {
        let mut connection = pool.acquire().await?;
        let mut tx = connection.begin_with(begin).await?;
        let ran = async {
            for statement in guard {
                sqlx::query(*statement).execute(&mut *tx).await?;
            }
            tx.ensure_migrations_table(TABLE).await.map_err(failed)?;
            let before = tx.list_applied_migrations(TABLE).await.map_err(failed)?.len();
            // The migrator's own lock is a session lock, which outlives a failed migration.
            let mut migrator =
                Migrator { migrations: migrator.migrations.clone(), ..Migrator::DEFAULT };
            migrator.set_locking(false);
            migrator.run_direct(None, &mut *tx, false).await.map_err(failed)?;
            Ok(migrator.iter().count() - before)
        }
        .await;
        // Awaited, so that the guard is gone when the caller learns of the failure.
        match &ran {
            Ok(_) => tx.commit().await?,
            Err(_) => tx.rollback().await?,
        }
        ran
    })
}

fn failed(error: MigrateError) -> StoreError {
    if let MigrateError::VersionMissing(version) = error {
        let message = format!(
            "the database has migration {version}, which this version of redeliverd does not \
             know; run the version that made it, or a newer one"
        );
        return StoreError::Migrate(message.into());
    }
    if let MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) = error {
        let error = StoreError::from(error);
        // A database that does not answer is no defect of the migration.
        return if let StoreError::Query(source) = error {
            StoreError::Migrate(source)
        } else {
            error
        };
    }
    StoreError::Migrate(Box::new(error))
}
