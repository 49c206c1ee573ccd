//! Graceful shutdown.

use super::*;

#[test]
fn running_operations_end_idle_clients_are_told_and_nobody_gets_in() {
    // One loop, so that the notice to one connection says that the other was told to stop, too.
    let mut server = TestServer::with(|settings, _| settings.loops = 1);
    let address = server.address();
    let mut idle = server.client();
    let mut busy = server.client();
    assert_eq!(idle.search(1, "dc=x").code, 0);
    busy.send(&[delete(1, "cn=gate"), search(2, "dc=x")].concat());
    assert_eq!(busy.expect().id, 2);
    let gate = Arc::clone(&server.gate);
    let stopping = std::thread::spawn(move || {
        let running = server.server.take().unwrap();
        running.shutdown(PATIENCE);
        server
    });
    idle.expect_notice(52);
    // Requests that come now are not executed; the one that runs is answered.
    busy.send(&search(3, "dc=x"));
    gate.open();
    assert_eq!(busy.expect().id, 1);
    busy.expect_notice(52);
    let server = stopping.join().unwrap();
    assert!(TcpStream::connect(address).is_err());
    let lines = lines_of(server.dir.path().join("access"));
    assert_eq!(lines.iter().filter(|line| line.contains("reason=\"Server Shutdown\"")).count(), 2, "{lines:?}");
    let errors = lines_of(server.dir.path().join("errors"));
    assert!(errors.last().unwrap().ends_with("msg=The server has stopped"), "{errors:?}");
}

#[test]
fn the_time_for_running_operations_is_bounded() {
    let mut server = TestServer::start();
    let mut busy = server.client();
    busy.send(&[delete(1, "cn=gate"), search(2, "dc=x")].concat());
    assert_eq!(busy.expect().id, 2);
    let running = server.server.take().unwrap();
    running.shutdown(Duration::from_millis(30));
    assert_eq!(busy.next(), None);
}

#[test]
fn a_stopped_server_leaves_its_port_and_socket_to_the_next() {
    let mut server = TestServer::with(|settings, dir| {
        settings.listeners.push(LdapListener::new(ListenAt::Path(dir.join("ldapi"))));
    });
    let address = server.address();
    assert!(server.dir.path().join("ldapi").exists());
    server.stop();
    assert!(!server.dir.path().join("ldapi").exists());
    let next = TestServer::with(|settings, _| settings.listeners[0].network.at = ListenAt::Tcp(address));
    assert_eq!(next.client().search(1, "dc=x").code, 0);
    let taken = std::panic::catch_unwind(|| {
        let settings = Settings {
            http: crate::http_settings::HttpSettings::default(),
            listeners: vec![LdapListener::new(ListenAt::Tcp(address))],
            connection_rules: Arc::default(),
            limits: Limits::default(),
            logs: LogSettings::default(),
            stall_threshold: None,
            loops: 1,
        };
        let logs = Arc::new(Publishers::new());
        let pool = Pool::new(
            "test",
            PoolLimits { running_max: 1, queue_max: 1, wait_max: None, threads_max: 1, turn: TURN, niceness: 0 },
        );
        let executor =
            || Box::new(Fake { gate: Arc::default(), pool: pool.clone(), names_hosts: false }) as Box<dyn Executor>;
        Server::launch(settings, logs, executor).map(|_| ())
    });
    assert!(taken.unwrap().unwrap_err().to_string().starts_with(&format!("cannot listen on {address}")));
}
