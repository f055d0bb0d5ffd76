//! Everything that a database holds, column by column, as text.

use std::path::Path;

use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection};

/// The stored payload is what the store is for.
const PAYLOAD: (&str, &str) = ("receipts", "body");

pub(super) async fn of_sqlite(file: &Path) -> Vec<(String, String)> {
    let url = format!("sqlite:{}", file.display());
    let mut db = SqliteConnection::connect(&url).await.unwrap();
    let columns: Vec<(String, String)> = sqlx::query_as(
        "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
         WHERE t.type = 'table'",
    )
    .fetch_all(&mut db)
    .await
    .unwrap();
    let mut all = Vec::new();
    for (table, column) in columns.into_iter().filter(not_the_payload) {
        let sql = format!("SELECT CAST(\"{column}\" AS BLOB) FROM \"{table}\"");
        let rows: Vec<Option<Vec<u8>>> =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut db).await.unwrap();
        all.push((format!("column {table}.{column}"), text(rows)));
    }
    all
}

pub(super) async fn of_postgres(url: &str) -> Vec<(String, String)> {
    let mut db = PgConnection::connect(url).await.unwrap();
    let columns: Vec<(String, String, String)> = sqlx::query_as(
        "SELECT table_name::text, column_name::text, data_type::text \
         FROM information_schema.columns WHERE table_schema = 'public'",
    )
    .fetch_all(&mut db)
    .await
    .unwrap();
    let mut all = Vec::new();
    for (table, column, kind) in columns {
        if !not_the_payload(&(table.clone(), column.clone())) {
            continue;
        }
        let value = match kind.as_str() {
            "bytea" => format!("\"{column}\""),
            _ => format!("convert_to(\"{column}\"::text, 'UTF8')"),
        };
        let sql = format!("SELECT {value} FROM \"{table}\"");
        let rows: Vec<Option<Vec<u8>>> =
            sqlx::query_scalar(AssertSqlSafe(sql)).fetch_all(&mut db).await.unwrap();
        all.push((format!("column {table}.{column}"), text(rows)));
    }
    all
}

fn not_the_payload((table, column): &(String, String)) -> bool {
    (table.as_str(), column.as_str()) != PAYLOAD
}

fn text(rows: Vec<Option<Vec<u8>>>) -> String {
    let rows = rows.into_iter().flatten();
    rows.map(|bytes| String::from_utf8_lossy(&bytes).into_owned() + "\n").collect()
}
