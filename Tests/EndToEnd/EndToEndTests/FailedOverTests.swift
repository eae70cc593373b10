import DocumentModel
import EventLoop
import Glibc
import LocalEngines
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    /// Postgres loses its last commits while everything else keeps running: the services, the broker with events of what is lost, and
    /// devices with open connections.
    struct FailedOverTests {
        @Test func `a promoted standby that lacks the last commits gets them back from the devices`() async throws {
            let system = try await RunningSystem.start("partita-e2e-failed-over-\(getpid())")
            let work = try await Work(system)
            let copy = try await PostgresCopy(of: system, name: "standby", isStandby: true)
            try await copy.promote {
                try await work.kept()
            } lagging: {
                try await work.lost()
            }
            try await copy.takeOver(system)
            try await work.verify()
            #expect(
                try await system.query("select reason from partita.epochs order by epoch").decode(String.self)
                    == ["first", "timeline changed"])
            try await work.close()
        }

        @Test
        func `a snapshot of the data directory that replaces it is known by its log, and gets back what it lacks`()
            async throws
        {
            let system = try await RunningSystem.start("partita-e2e-snapshot-\(getpid())")
            let work = try await Work(system)
            try await work.kept()
            let copy = try await PostgresCopy(of: system, name: "snapshot", isStandby: false)
            try await work.lost()
            try await Task.sleep(for: .seconds(2))  // services look at the log's position once a second
            try await copy.takeOver(system)
            try await work.verify()
            #expect(
                try await system.query("select reason from partita.epochs order by epoch").decode(String.self)
                    == ["first", "the write-ahead log went back"])
            try await work.close()
        }

        @Test(.needsRealBroker) func `a snapshot that is put in place while nothing runs is known by the topic`()
            async throws
        {
            let name = "partita-e2e-cold-snapshot-\(getpid())"
            let first = try await RunningSystem.start(name)
            let work = try await Work(first)
            try await work.kept()
            let copy = try await PostgresCopy(of: first, name: "snapshot", isStandby: false)
            try await work.lost()
            try first.kill("trigger-workers", SIGCONT)
            #expect(await first.up.terminate(grace: .seconds(40)) == .exited(0))
            try copy.replace()
            let second = try await RunningSystem.start(name, basePort: first.basePort)
            try await work.verify()
            #expect(
                try await second.query("select reason from partita.epochs order by epoch").decode(String.self)
                    == ["first", "the topic has later changes"])
            try await work.close(second)
        }

        /// Two devices that write in one conversation, and what Postgres has to have in the end.
        private final class Work: Sendable {
            let system: RunningSystem
            let ada: TestDevice
            let ben: TestDevice
            let talk: TestConversation
            let handles: [PartitionHandle]
            /// Nothing is written in it before the copy is cut off.
            let quietTalk: TestConversation
            let quiet: PartitionHandle
            let sent = Locked<Set<String>>([])

            init(_ system: RunningSystem) async throws {
                self.system = system
                ada = try await TestDevice.register("ada", on: system)
                ben = try await TestDevice.register("ben", on: system)
                talk = try await ada.beginConversation(with: [ben])
                handles = [try await ada.open(talk), try await ben.open(talk)]
                quietTalk = try await ada.beginConversation(with: [ben])
                quiet = try await ada.open(quietTalk)
            }

            private func send(_ text: String) async throws {
                for (device, handle) in zip([ada, ben], handles) {
                    let id = try await device.send(text, to: handle)
                    sent.withLock { _ = $0.insert("s:" + id) }
                    try await handle.waitForUploads()
                }
            }

            /// What the copy has. Of one change it has only the change: its trigger runs afterwards.
            func kept() async throws {
                try await send("kept")
                try system.kill("trigger-workers", SIGSTOP)
                try await ada.own.write {
                    $0.update(
                        "User", id: .string(self.ada.session.userId),
                        ["$set": ["userPreferences.displayName": "Ada Lovelace"]])
                }
                try await ada.own.waitForUploads()
            }

            /// What it lacks.
            func lost() async throws {
                try system.kill("trigger-workers", SIGCONT)
                try await eventually("the trigger has run", within: patience) {
                    try await shownName() == "Ada Lovelace"
                }
                for number in 1...3 { try await send("lost \(number)") }
                try await ben.own.write {
                    $0.update(
                        "User", id: .string(self.ben.session.userId),
                        ["$set": ["userPreferences.displayName": "Ben Franklin"]])
                }
                try await ben.own.waitForUploads()
                try await eventually("its trigger has run, too", within: patience) {
                    try await shownName(of: ben) == "Ben Franklin"
                }
                // Of these the topic has the events, and no trigger has run.
                try system.kill("trigger-workers", SIGSTOP)
                try await send("lost before a trigger ran")
                _ = try await ada.send("the first one here", to: quiet)
                try await quiet.waitForUploads()
                for handle in handles { try await talk.waitUntilSame(handle) }
            }

            /// The name that a trigger carries over from Ada's document.
            private func shownName(of device: TestDevice? = nil) async throws -> String? {
                try await system.query(
                    #"select document ->> 'displayName' from "rchat/RChat"."Chatster" where _id = $1"#,
                    [.text("s:" + (device ?? ada).session.userId)]
                ).decode(String?.self).first ?? nil
            }

            /// Everything is there again, by itself.
            func verify() async throws {
                do {
                    try system.kill("trigger-workers", SIGCONT)
                    try await system.waitUntilReady()
                    try await send("afterwards")
                    try await eventually("Postgres has every message", within: .seconds(60)) {
                        Set(try await talk.rows().keys) == sent.withLock { $0 }
                    }
                    for handle in handles {
                        try await talk.waitUntilSame(handle)
                        #expect(try await handle.pending().isEmpty)
                        #expect(try await handle.rejected().isEmpty)
                    }
                    try await eventually("the trigger's write is there again", within: patience) {
                        try await shownName() == "Ada Lovelace"
                    }
                    try await eventually("and that of a change that was lost itself", within: patience) {
                        try await shownName(of: ben) == "Ben Franklin"
                    }
                    // Also of events that only the topic has, a trigger has run once for each message, and no more.
                    let count = sent.withLock { $0.count } / 2
                    for (device, talk, meant) in [(ada, talk, count), (ben, talk, count), (ben, quietTalk, 1)] {
                        var seen: Int?
                        try await eventually("\(meant) messages are unread, not \(seen ?? -1)", within: patience) {
                            seen = try await unread(device, talk)
                            return seen == meant
                        }
                    }
                    try await eventually("the triggers have handled every change", within: patience) {
                        try await system.query(
                            """
                            select from partita.partitions p left join partita.handled_events h
                                on h.consumer = 'trigger-workers' and h.app = p.app and h.partition = p.partition
                            where coalesce(h.watermark, 0) < p.head
                            """
                        ).isEmpty
                    }
                    for device in [ada, ben] { #expect(try await unread(device, talk) == count) }
                    #expect(try await unread(ben, quietTalk) == 1)
                } catch {
                    throw SystemFailure(description: "\(error)\n\(system.logEnds())")
                }
                try await system.check()
            }

            private func unread(_ device: TestDevice, _ talk: TestConversation) async throws -> Int? {
                TestDevice.unread(try await device.userRow(), talk.id)
            }

            /// - Parameter present: the system, if it isn't the one with which the work began.
            func close(_ present: RunningSystem? = nil) async throws {
                try await ada.close()
                try await ben.close()
                #expect(await (present ?? system).up.terminate(grace: .seconds(40)) == .exited(0))
            }
        }
    }
}
