import ChildProcesses
import EventLoop
import Foundation
import Kafka
import LocalEngines
import Logging
import TestSupport
import Testing

/// Brokers that accept no client without TLS or a password.
@Suite struct KafkaSecurityTests {
    @Test(.enabled("needs Apache Kafka (KAFKA_HOME)") { RealBroker.home != nil })
    func `a broker that requires TLS, a certificate or a password is used only with them`() async throws {
        let broker = try await SecuredBroker.start()
        do {
            let cases = Self.cases(broker)
            // Concurrently: a refused client just gets no answer, for seconds.
            let answers = try await withThrowingTaskGroup(of: (Int, Bool).self) { group in
                for (index, one) in cases.enumerated() {
                    group.addTask { (index, try await broker.answers(one.listener, one.security)) }
                }
                var answers: [Int: Bool] = [:]
                for try await (index, isAnswered) in group { answers[index] = isAnswered }
                return answers
            }
            for (index, one) in cases.enumerated() { #expect(answers[index] == one.isAnswered, "\(one.name)") }
        } catch {
            await broker.stop()
            throw error
        }
        await broker.stop()
    }

    @Test(.enabled("needs Apache Kafka (KAFKA_HOME)") { RealBroker.home != nil })
    func `a broker that refuses a client for a while ends nothing`() async throws {
        var broker = try await SecuredBroker.start()
        let result: Result<Void, any Error>
        do { result = .success(try await Self.refuseForAWhile(&broker)) } catch { result = .failure(error) }
        await broker.stop()
        try result.get()
    }

    private static func refuseForAWhile(_ broker: inout SecuredBroker) async throws {
        let configuration = broker.configuration(.sasl, broker.user)
        let loops = LoopGroup(1)
        let admin = KafkaAdmin(configuration: configuration)
        try await admin.createTopics([KafkaTopic(name: "t", partitions: 1)], timeout: .seconds(60))
        try await Self.warnOfSettings(configuration)
        let producer = KafkaProducer(configuration: configuration, loop: loops.next())
        let consumer = try KafkaConsumer(configuration: configuration)
        try await consumer.assign([KafkaTopicPartition(topic: "t", partition: 0): .beginning])
        func read() async throws -> [String] {
            try await consumer.next(timeout: .milliseconds(200)).messages.map {
                String(decoding: $0.value ?? [], as: UTF8.self)
            }
        }
        _ = try await producer.send(KafkaRecord(topic: "t", value: Array("before".utf8)))
        try await eventually("the first message") { try await read() == ["before"] }
        try await broker.restart(password: "another")
        let refused = ContinuousClock.now
        while ContinuousClock.now - refused < .seconds(8) { #expect(try await read() == []) }
        let error = await #expect(throws: KafkaError.self) {
            try await admin.createTopics([KafkaTopic(name: "u", partitions: 1)], timeout: .seconds(5))
        }
        #expect(error?.isRetriable == true)
        try await broker.restart(password: "s3cret")
        _ = try await producer.send(KafkaRecord(topic: "t", value: Array("after".utf8)))
        try await eventually("the second message", within: .seconds(60)) { try await read() == ["after"] }
        await consumer.close()
        await producer.close()
        await admin.close()
        await loops.shutDown(within: .seconds(1))
    }

    /// A topic that somebody else has made in a way in which it loses messages is named.
    private static func warnOfSettings(_ configuration: KafkaConfiguration) async throws {
        let log = InMemoryLogHandler()
        let admin = KafkaAdmin(
            configuration: configuration, logger: Logger(label: "test", handler: log, logLevel: .info))
        func make(_ settings: [String: String]) async throws -> [String] {
            let before = log.events.count
            let topic = KafkaTopic(name: "s", partitions: 1, configuration: settings)
            try await admin.createTopics([topic], timeout: .seconds(60))
            return log.events.dropFirst(before).compactMap { $0.metadata["setting"]?.description }
        }
        #expect(try await make(["cleanup.policy": "delete", "retention.ms": "60000"]) == [])
        #expect(try await make(["cleanup.policy": "delete", "retention.ms": "30000"]) == [])
        let warned = try await make(["cleanup.policy": "compact", "retention.ms": "90000"])
        #expect(warned == ["cleanup.policy", "retention.ms"], "\(log.events)")
        await admin.close()
    }

    private struct Case {
        let name: String
        let listener: SecuredBroker.Listener
        let security: KafkaSecurity
        let isAnswered: Bool
    }

    private static func cases(_ broker: SecuredBroker) -> [Case] {
        var tls = KafkaSecurity()
        tls.usesTLS = true
        tls.authorities = broker.authority
        var cases = [Case(name: "no password", listener: .sasl, security: tls, isAnswered: false)]
        for mechanism in KafkaSecurity.Mechanism.allCases {
            var security = tls
            security.credentials = .init(mechanism: mechanism, username: "partita", password: "s3cret")
            // The broker of the tests is of version 4.
            let isUnderstood = mechanism == .plain || KafkaSecurity.signsInToNewBrokersBySCRAM
            cases.append(
                Case(name: "\(mechanism)", listener: .sasl, security: security, isAnswered: isUnderstood))
            security.credentials?.password = "another"
            cases.append(
                Case(name: "\(mechanism), wrong", listener: .sasl, security: security, isAnswered: false))
        }
        cases.append(Case(name: "no certificate", listener: .certificates, security: tls, isAnswered: false))
        tls.certificate = broker.clientCertificate
        tls.key = broker.clientKey
        cases.append(Case(name: "a certificate", listener: .certificates, security: tls, isAnswered: true))
        tls.authorities = nil
        cases.append(
            Case(name: "a broker that isn't trusted", listener: .certificates, security: tls, isAnswered: false))
        cases.append(Case(name: "no TLS", listener: .certificates, security: KafkaSecurity(), isAnswered: false))
        return cases
    }
}

/// An Apache Kafka whose listeners for clients are TLS.
private struct SecuredBroker {
    enum Listener { case sasl, certificates }

    let directory: String
    let ports: Int
    private(set) var child: ChildProcess

    var authority: String { directory + "/ca.pem" }
    var clientCertificate: String { directory + "/client.pem" }
    var clientKey: String { directory + "/client.key" }

    static func start() async throws -> SecuredBroker {
        let home = try #require(RealBroker.home)
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("kafka-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let ports = try LocalPort.free(4)
        try await makeCertificates(directory)
        let file = try configure(directory, ports, password: "s3cret")
        let made = try await CapturedRun.run(
            "bash",
            [
                "\(home)/bin/kafka-storage.sh", "format", "-t", "5L6g3nShT-eMCtK--X86sw", "-c", file, "--add-scram",
                "SCRAM-SHA-256=[name=partita,password=s3cret]", "--add-scram",
                "SCRAM-SHA-512=[name=partita,password=s3cret]",
            ], environment: environment(directory))
        try #require(made.status.isSuccess, "\(made.output)")
        return try await launch(directory, ports)
    }

    /// Stops the broker, and starts it with another password of the user.
    mutating func restart(password: String) async throws {
        await child.terminate(grace: .seconds(20))
        _ = try Self.configure(directory, ports, password: password)
        child = try await Self.launch(directory, ports).child
    }

    private static func environment(_ directory: String) -> [String: String] {
        CurrentEnvironment.variables.merging(["KAFKA_HEAP_OPTS": "-Xmx384m", "LOG_DIR": directory + "/logs"]) { $1 }
    }

    /// - Returns: the path of the configuration.
    private static func configure(_ directory: String, _ ports: Int, password: String) throws -> String {
        let plain = "org.apache.kafka.common.security.plain.PlainLoginModule required user_partita=\"\(password)\";"
        let scram = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
        let properties = """
            process.roles=broker,controller
            node.id=1
            controller.quorum.voters=1@127.0.0.1:\(ports + 3)
            listeners=SASL_SSL://127.0.0.1:\(ports),SSL://127.0.0.1:\(ports + 1),PLAINTEXT://127.0.0.1:\(ports + 2),CONTROLLER://127.0.0.1:\(ports + 3)
            advertised.listeners=SASL_SSL://localhost:\(ports),SSL://localhost:\(ports + 1),PLAINTEXT://127.0.0.1:\(ports + 2)
            listener.security.protocol.map=SASL_SSL:SASL_SSL,SSL:SSL,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
            controller.listener.names=CONTROLLER
            inter.broker.listener.name=PLAINTEXT
            log.dirs=\(directory)/data
            offsets.topic.replication.factor=1
            ssl.keystore.type=PEM
            ssl.keystore.location=\(directory)/broker.pem
            ssl.truststore.type=PEM
            ssl.truststore.location=\(directory)/ca.pem
            listener.name.ssl.ssl.client.auth=required
            sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512
            listener.name.sasl_ssl.plain.sasl.jaas.config=\(plain)
            listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config=\(scram)
            listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=\(scram)

            """
        let file = directory + "/server.properties"
        try properties.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    private static func launch(_ directory: String, _ ports: Int) async throws -> SecuredBroker {
        let home = try #require(RealBroker.home)
        let child = try ChildProcess.spawn(
            "bash", ["\(home)/bin/kafka-server-start.sh", directory + "/server.properties"],
            environment: environment(directory), output: .file(directory + "/log"))
        let broker = SecuredBroker(directory: directory, ports: ports, child: child)
        do {
            try await eventually("the broker listens", within: .seconds(120)) {
                guard child.exitStatus == nil else {
                    throw EngineError(
                        engine: "kafka", message: try String(contentsOfFile: directory + "/log", encoding: .utf8))
                }
                return LocalPort.isTaken(ports) && LocalPort.isTaken(ports + 1)
            }
        } catch {
            await broker.stop()
            throw error
        }
        return broker
    }

    func stop() async {
        await child.terminate(grace: .seconds(20))
        try? FileManager.default.removeItem(atPath: directory)  // nothing depends on the removal
    }

    /// The user of the listener with passwords.
    var user: KafkaSecurity {
        var security = KafkaSecurity()
        security.usesTLS = true
        security.authorities = authority
        security.credentials = .init(mechanism: .plain, username: "partita", password: "s3cret")
        return security
    }

    func configuration(_ listener: Listener, _ security: KafkaSecurity) -> KafkaConfiguration {
        var configuration = KafkaConfiguration(
            bootstrapServers: "localhost:\(listener == .sasl ? ports : ports + 1)", clientID: "tests")
        configuration.security = security
        return configuration
    }

    /// Whether a client with these settings is answered.
    func answers(_ listener: Listener, _ security: KafkaSecurity) async throws -> Bool {
        let admin = KafkaAdmin(configuration: configuration(listener, security))
        do {
            // An expected answer may take long on a busy machine.
            try await admin.createTopics([KafkaTopic(name: "t", partitions: 1)], timeout: .seconds(15))
        } catch {
            await admin.close()
            guard Self.isRefusal(error) else { throw error }
            return false
        }
        await admin.close()
        return true
    }

    private static func isRefusal(_ error: any Error) -> Bool {
        guard let code = (error as? KafkaError)?.code else { return false }
        return code == .timedOut || code == .unreachable || code == .unauthorized
    }

    /// A certificate authority, and certificates of a broker and a client.
    private static func makeCertificates(_ directory: String) async throws {
        try await TestCertificates.make(in: directory)
        let script = """
            set -e; cd "$1"
            openssl pkcs8 -topk8 -nocrypt -in server.key > broker.pem
            cat server.pem ca.pem >> broker.pem
            """
        let made = try await CapturedRun.run("bash", ["-c", script, "bash", directory])
        try #require(made.status.isSuccess, "\(made.output)")
    }
}
