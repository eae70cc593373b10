import Logging
import Testing

@Suite struct LoggerTests {
    let handler = InMemoryLogHandler()

    @Test func `what is below the level is neither written nor evaluated`() {
        let logger = Logger(label: "test", handler: handler, logLevel: .info)
        var evaluated = false
        logger.debug(
            "not wanted",
            metadata: {
                evaluated = true; return [:]
            }())
        logger.info("wanted")
        #expect(handler.messages == ["wanted"])
        #expect(!evaluated)
    }

    @Test func `an event's metadata wins over the logger's`() {
        var logger = Logger(label: "test", handler: handler, logLevel: .trace)
        logger[metadataKey: "user.id"] = "a"
        logger[metadataKey: "app"] = "rchat"
        logger.trace("hello", metadata: ["user.id": "b"])
        #expect(handler.events[0].metadata == ["user.id": "b", "app": "rchat"])
    }

    @Test func `a copy with other metadata leaves the original alone`() {
        let logger = Logger(label: "test", handler: handler, logLevel: .trace)
        var copy = logger
        copy[metadataKey: "a"] = "1"
        copy.logLevel = .critical
        logger.trace("original")
        copy.error("hidden")
        copy.critical("copy")
        #expect(handler.messages == ["original", "copy"])
        #expect(handler.events[0].metadata.isEmpty)
    }

    @Test func `levels are ordered from trace to critical`() {
        #expect(Logger.Level.allCases == Logger.Level.allCases.sorted())
        #expect(Logger.Level.trace < .critical)
    }
}
