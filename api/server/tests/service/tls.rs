//! A PostgreSQL server that is reached by TLS.
use slackwater_store::database::Store;
use slackwater_store::notes::ChangeNotifications;
use sqlx::Row;

use crate::postgres;

/// Opens a database with more settings in its address.
async fn open(database: &str, settings: &str) -> Result<Store, String> {
    let url = format!("{}?{settings}", database.split('?').next().unwrap());
    Store::open(&url.parse().unwrap()).await.map_err(|failure| failure.to_string())
}

#[tokio::test]
async fn all_connections_to_a_server_are_encrypted_and_named() {
    let database = postgres::database();
    let root = postgres::root_certificate();
    let root = root.display();
    for settings in
        ["sslmode=require".to_owned(), format!("sslmode=verify-full&sslrootcert={root}")]
    {
        let store = open(&database, &settings).await.unwrap();
        let _notes = ChangeNotifications::listen(&store).await.unwrap().unwrap();
        store.begin().await.unwrap().commit(|| ()).await.unwrap();
        let query = "select ssl, application_name from pg_stat_ssl
             join pg_stat_activity using (pid) where datname = current_database()";
        let rows = sqlx::query(query).fetch_all(store.reader()).await.unwrap();
        // One that reads, one that writes, one that listens.
        assert!(rows.len() >= 3, "{settings}: {}", rows.len());
        for row in rows {
            assert!(row.try_get::<bool, _>("ssl").unwrap(), "{settings}");
            assert_eq!(row.try_get::<String, _>("application_name").unwrap(), "slackwater");
        }
        store.close().await;
    }
}

#[tokio::test]
async fn a_server_that_does_not_prove_its_name_is_refused() {
    let database = postgres::database();
    let root = postgres::root_certificate();
    let root = root.display();
    let unknown = open(&database, "sslmode=verify-full").await.unwrap_err();
    assert!(unknown.contains("certificate"), "{unknown}");
    let elsewhere = database.replace("127.0.0.1", "localhost");
    let settings = format!("sslmode=verify-full&sslrootcert={root}");
    let other_name = open(&elsewhere, &settings).await.unwrap_err();
    assert!(other_name.contains("certificate"), "{other_name}");
    assert!(open(&elsewhere, &settings.replace("full", "ca")).await.is_ok());
}
