import ChildProcesses
import Foundation
import Glibc

/// A private single-node Apache Kafka (KRaft), from an unpacked distribution.
public actor KafkaEngine: Engine {
    public nonisolated let name = "kafka"
    public nonisolated let port: Int
    private let home: String
    private let controllerPort: Int
    private var directory: EngineDirectory
    public nonisolated let logFile: String
    private var child: ChildProcess?

    /// - Parameter home: the distribution's directory, as in `KAFKA_HOME`: `bin/` and `libs/`.
    public init(home: String, root: String, port: Int, controllerPort: Int) {
        self.home = URL(fileURLWithPath: home).standardizedFileURL.path
        directory = EngineDirectory(engine: "kafka", root: root)
        logFile = directory.logFile
        self.port = port
        self.controllerPort = controllerPort
    }

    public nonisolated var bootstrap: String { "127.0.0.1:\(port)" }

    public func start() async throws(EngineError) {
        if !(await directory.user.canRead("\(home)/libs")) { directory.user = .present }
        try directory.create()
        try await directory.stopLeftover(SIGTERM)
        try LocalPort.requireFree(port, for: name)
        try LocalPort.requireFree(controllerPort, for: name)
        try directory.write(properties, to: "server.properties")
        let file = directory.path + "/server.properties"
        if !directory.contains("data/meta.properties") {
            try await directory.run(
                "bash", ["\(home)/bin/kafka-storage.sh", "format", "-t", Self.clusterID(), "-c", file],
                environment: environment)
        }
        let child = try directory.spawn("bash", ["\(home)/bin/kafka-server-start.sh", file], environment: environment)
        self.child = child
        let port = port
        try await directory.wait(for: child, deadline: .seconds(90)) {
            TCPProbe.accepts(port: port) ? .ready : .silence
        }
    }

    public func stop() async {
        await child?.terminate(grace: .seconds(20))
        child = nil
    }

    public func signal(_ number: Int32) { child?.signal(number) }

    public func waitForExit() async { _ = await child?.wait() }

    private var environment: [String: String] { ["KAFKA_HEAP_OPTS": "-Xmx384m", "LOG_DIR": directory.path + "/logs"] }

    private var properties: String {
        """
        process.roles=broker,controller
        node.id=1
        controller.quorum.voters=1@127.0.0.1:\(controllerPort)
        listeners=PLAINTEXT://127.0.0.1:\(port),CONTROLLER://127.0.0.1:\(controllerPort)
        advertised.listeners=PLAINTEXT://127.0.0.1:\(port)
        listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
        controller.listener.names=CONTROLLER
        inter.broker.listener.name=PLAINTEXT
        log.dirs=\(directory.path)/data
        auto.create.topics.enable=false
        num.partitions=4
        default.replication.factor=1
        offsets.topic.replication.factor=1
        offsets.topic.num.partitions=4
        transaction.state.log.replication.factor=1
        transaction.state.log.min.isr=1
        transaction.state.log.num.partitions=4
        group.initial.rebalance.delay.ms=0
        group.min.session.timeout.ms=1000
        # A killed broker's own session is over sooner, so that it is back in 5 s and not in 13.
        broker.session.timeout.ms=2000
        broker.heartbeat.interval.ms=250
        log.cleaner.dedupe.buffer.size=8388608
        log.segment.bytes=16777216
        num.network.threads=1
        num.io.threads=2

        """
    }

    /// A random cluster id: 16 bytes in unpadded base64url. It begins with a letter, because a dash would be parsed as an option.
    static func clusterID() -> String {
        var bytes = (0..<16).map { _ in UInt8.random(in: 0...255) }
        bytes[0] &= 0x7f
        return Data(bytes).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
    }
}
