-- Who relays events has a lease in `partita.work_leases`, as all other work of one process at a time.
DROP TABLE partita.auth_relay_lease;
