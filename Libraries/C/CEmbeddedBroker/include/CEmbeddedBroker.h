#ifndef C_EMBEDDED_BROKER_H
#define C_EMBEDDED_BROKER_H

/// From now on, until it is called with 0, sockets that this thread binds to "any port" get this port and the following ones.
///
/// librdkafka's mock cluster binds its listeners to port 0 and advertises what it got; it has no option for the port. The
/// executable that links this target therefore has a `bind` of its own, which librdkafka's call finds before libc's.
void cembedded_fix_ports(int first_port);

/// Whether 127.0.0.1:port can be listened on: librdkafka 2.0 aborts the process when a mock broker can't.
int cembedded_port_is_free(int port);

/// Whether what is produced ends the waits of fetches, as it does at first. Not while answers are delayed on purpose: those would come
/// early too.
void cembedded_wake_fetches(int yes);

#endif
