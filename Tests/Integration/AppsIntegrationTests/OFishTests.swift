import AppDefinition
import DocumentModel
import DocumentStore
import FunctionProtocol
import TestSupport
import Testing

@Suite struct OFishTests {
    private static let galapagos = "Galapagos Marine Reserve", palau = "Palau Coast Watch"
    // Accounts of the sample.
    private static let chief = sample(1), gala = sample(2), otto = sample(3), pela = sample(4)

    private static func sample(_ number: Int) -> RuleUser { RuleUser(id: "0000f00d000000000000000\(number)") }

    private static func with(_ body: (AppWorld) async throws -> Void) async throws {
        try await AppWorld.with("ofish") { world in
            try await world.insertSample()
            try await world.settle()
            try await body(world)
        }
    }

    private func report(
        _ id: ObjectId, _ agency: String = Self.galapagos, at time: Int64 = 1_800_000_000_000
    ) -> Document {
        ["_id": .objectId(id), "agency": .string(agency), "timestamp": .date(time), "vessel": ["name": "Test"]]
    }

    private func photo(of report: ObjectId, _ agency: String = Self.galapagos) -> Document {
        [
            "_id": .objectId(ObjectId()), "agency": .string(agency), "referencingReportID": .objectId(report),
            "picture": .binary(Binary([1, 2, 3])),
        ]
    }

    private func photoCount(_ world: AppWorld, of report: ObjectId) async throws -> Int {
        try await world.collection("Photo").countDocuments(["referencingReportID": .objectId(report)])
    }

    // MARK: Rights

    @Test func `partitions open for members, read-only for partners and global admins, and for nobody else`()
        async throws
    {
        try await Self.with { world in
            #expect(try await world.access(Self.otto, Self.galapagos) == (true, true))
            #expect(try await world.access(Self.otto, Self.palau) == (true, false))
            #expect(try await world.access(Self.pela, Self.galapagos) == (false, false))
            #expect(try await world.access(Self.chief, Self.palau) == (true, false))
            #expect(try await world.access(Self.chief, "No agency") == (false, false))
            let newcomer = try await world.register("newcomer")
            for partition in [Self.galapagos, Self.palau, ""] {
                #expect(try await world.access(newcomer, partition) == (false, false))
            }
            // The custom data in a token is as old as the token.
            let liar = RuleUser(id: newcomer.id, customData: ["agency": ["name": .string(Self.palau)], "active": true])
            #expect(try await world.access(liar, Self.palau) == (false, false))
        }
    }

    @Test func `admins admit and dismiss members, and share reports, of their own agency only`() async throws {
        try await Self.with { world in
            let ana = try await world.register("ana"), bo = try await world.register("bo")
            func setMember(_ by: RuleUser, _ change: Document) async throws {
                try await world.call("setMember", [.document(change)], user: by)
            }
            let anas: Document = ["email": "ana@ofish.example", "agency": .string(Self.galapagos)]
            for stranger in [Self.otto, Self.pela, bo] {
                await #expect(throws: FunctionFailure.self) { try await setMember(stranger, anas) }
            }
            try await setMember(Self.gala, anas)
            #expect(try await world.access(ana, Self.galapagos) == (true, true))
            // Another agency's member, a global admin, and an agency that isn't there.
            for change: Document in [
                ["email": "palau@ofish.example", "agency": .string(Self.galapagos)],
                ["email": "chief@ofish.example", "agency": .string(Self.galapagos), "isActive": false],
                ["email": "bo@ofish.example", "agency": .string(Self.palau)],
                ["email": "bo@ofish.example", "agency": "No agency"],
            ] {
                await #expect(throws: FunctionFailure.self) { try await setMember(Self.gala, change) }
            }
            try await setMember(Self.gala, anas.merging(["isAdmin": true]))
            try await setMember(ana, ["email": "bo@ofish.example", "agency": .string(Self.galapagos)])
            #expect(try await world.access(bo, Self.galapagos) == (true, true))
            try await setMember(
                ana, ["email": "bo@ofish.example", "agency": .string(Self.galapagos), "isActive": false])
            #expect(try await world.access(bo, Self.galapagos) == (false, false))
            await #expect(throws: FunctionFailure.self) { try await world.call("profile", [], user: bo) }

            let sharing: Document = [
                "agency": .string(Self.galapagos), "partner": .string(Self.palau), "isShared": true,
            ]
            await #expect(throws: FunctionFailure.self) {
                try await world.call("setPartner", [.document(sharing)], user: Self.pela)
            }
            try await world.call("setPartner", [.document(sharing)], user: ana)
            #expect(try await world.access(Self.pela, Self.galapagos) == (true, false))
            try await world.call("setPartner", [.document(sharing.merging(["isShared": false]))], user: ana)
            #expect(try await world.access(Self.pela, Self.galapagos) == (false, false))
        }
    }

    @Test func `an id without a right is as if nothing had it`() async throws {
        try await Self.with { world in
            let theirs = try #require(ObjectId(hexString: "000000040000000000000001"))
            func details(_ id: Value, _ user: RuleUser) async throws -> Value {
                try await world.call("reportDetails", [id], user: user)
            }
            #expect(try await details(.objectId(theirs), Self.otto)["report"]?["vessel"]?["name"] == "Albatros")
            var messages: Set<String> = []
            for id in [theirs, ObjectId()] {
                let failure = await #expect(throws: FunctionFailure.self) {
                    try await details(.objectId(id), Self.pela)
                }
                messages.insert(failure?.message ?? "")
            }
            #expect(messages == ["there is no such report"])
            for name in ["searchReports", "listReports", "dashboard"] {
                let request: Value = ["query": "shark", "agency": .string(Self.galapagos)]
                await #expect(throws: FunctionFailure.self) { try await world.call(name, [request], user: Self.pela) }
                let own = try await world.call(name, [["query": "Sea Lark"]], user: Self.pela)
                #expect(!ExtendedJSON.print(own).contains(Self.galapagos), "\(name)")
            }
        }
    }

    @Test func `hostile arguments are refused with a reason, and change nothing`() async throws {
        try await Self.with { world in
            let hostile: [Value] = [
                .null, ["$ne": 1], [["$gt": ""]], .string(String(repeating: "a", count: 100_000)), .double(.nan),
                .int32(-1), .string("__proto__"), ["$where": "while (true) {}"], .string("a\u{0}b"), .bool(true),
            ]
            let before = try await world.collection("ChangeHistory").countDocuments()
            for value in hostile {
                let calls: [(String, [Value])] = [
                    ("createAgency", [value]), ("createAgency", ["Fine", value]),
                    ("setMember", [["email": value, "agency": .string(Self.galapagos)]]),
                    ("setMember", [["email": "otto@ofish.example", "agency": value]]),
                    ("setMember", [["email": "otto@ofish.example", "agency": .string(Self.palau), "isAdmin": "yes"]]),
                    ("setPartner", [["agency": .string(Self.galapagos), "partner": value, "isShared": true]]),
                    ("saveMenu", [["agency": value]]),
                    ("saveMenu", [["agency": .string(Self.galapagos), "species": [value, value]]]),
                    ("reportDetails", [value]), ("searchReports", [["query": value]]),
                    ("searchReports", [["query": "shark", "pageSize": value]]),
                    ("searchReports", [["query": "shark", "risk": value]]),
                    ("listReports", [["after": ["timestamp": value, "id": value]]]),
                    ("listReports", [["pageSize": value]]), ("dashboard", [["from": value]]),
                ]
                for (name, arguments) in calls {
                    do {
                        let answer = try await world.call(name, arguments, user: Self.gala)
                        // What is a legal value of the argument all the same.
                        #expect(
                            [.null, .bool(true), .string("__proto__"), .string("a\u{0}b")].contains(value),
                            "\(name) \(ExtendedJSON.print(.array(arguments))): \(ExtendedJSON.print(answer))")
                    } catch let failure as FunctionFailure {
                        #expect(
                            failure.code == .functionExecutionError && !failure.message.isEmpty, "\(name): \(failure)")
                    }
                }
            }
            // Nested as deep as a call may be, and words with a meaning for the search itself.
            for query in ["\"shark", "shark -fin", "* | !", "a & b:*", "'; drop table x", "\\"] {
                try await world.call("searchReports", [["query": .string(query)]], user: Self.otto)
            }
            try await world.settle()
            let menus = try await world.collection("ChangeHistory").countDocuments(["collection": "MenuData"])
            #expect(
                try await world.collection("ChangeHistory").countDocuments(["collection": ["$ne": "MenuData"]])
                    == before - 2)
            #expect(menus <= 4)
        }
    }

    // MARK: Reports and photos

    @Test func `a deleted report takes its photos with it, whenever they arrive, and no others`() async throws {
        try await Self.with { world in
            let id = ObjectId(), other = ObjectId()
            let reports = world.collection("BoardingReports"), photos = world.collection("Photo")
            // A photo before its report, one after it, and one that another agency's officer gave the same id.
            _ = try await photos.insertOne(photo(of: id))
            try await world.settle()
            #expect(try await photoCount(world, of: id) == 1)
            _ = try await reports.insertOne(report(id))
            _ = try await reports.insertOne(report(other))
            _ = try await photos.insertOne(photo(of: id))
            _ = try await photos.insertOne(photo(of: id, Self.palau))
            _ = try await photos.insertOne(photo(of: other))
            try await world.settle()
            #expect(try await photoCount(world, of: id) == 3)

            _ = try await reports.deleteOne(["_id": .objectId(id)])
            try await world.settle(doesCrash: true)
            #expect(
                try await photos.distinct("agency", ["referencingReportID": .objectId(id)]) == [.string(Self.palau)])
            #expect(try await photoCount(world, of: other) == 1)
            // From a device that was offline meanwhile.
            _ = try await photos.insertOne(photo(of: id))
            try await world.settle(doesCrash: true)
            #expect(try await photoCount(world, of: id) == 1)
        }
    }

    @Test(arguments: 1...6)
    func `a report and its photos go at any moment, and nothing is left`(seed: UInt64) async throws {
        try await Self.with { world in
            var random = SeededGenerator(state: seed)
            let id = ObjectId()
            _ = try await world.collection("BoardingReports").insertOne(report(id))
            for _ in 0..<3 { _ = try await world.collection("Photo").insertOne(photo(of: id)) }
            if seed % 2 == 0 { try await world.settle(using: &random) }
            _ = try await world.collection("BoardingReports").deleteOne(["_id": .objectId(id)])
            _ = try await world.collection("Photo").insertOne(photo(of: id))
            try await world.settle(using: &random, doesCrash: seed % 3 == 0)
            #expect(try await photoCount(world, of: id) == 0)
        }
    }

    @Test func `the history has each change once, and no change starts a trigger that changes something again`()
        async throws
    {
        try await Self.with { world in
            let id = ObjectId()
            let reports = world.collection("BoardingReports")
            _ = try await reports.insertOne(report(id))
            _ = try await reports.updateOne(
                ["_id": .objectId(id)],
                .document(["$set": ["vessel.name": "Renamed"], "$push": ["crew": ["name": "Ann"]]]))
            _ = try await reports.deleteOne(["_id": .objectId(id)])
            // Three changes of the report and their three entries.
            #expect(try await world.settle() == 6)
            let history = try await world.collection("ChangeHistory").find(["documentID": .objectId(id)])
            #expect(history.map { $0["operation"] } == ["insert", "update", "delete"])
            #expect(
                history[1]["before"]?["vessel"]?["name"] == "Test"
                    && history[2]["before"]?["vessel"]?["name"] == "Renamed")
            #expect(history.allSatisfy { $0["ofAgency"] == .string(Self.galapagos) })
            #expect(try await world.settle() == 0)
        }
    }

    @Test func `what several admins change at the same time is all there in the end`() async throws {
        try await Self.with { world in
            let names = (1...8).map { "Agency \($0)" }
            for name in names { try await world.callWithCrashes("createAgency", [.string(name)], user: Self.chief) }
            #expect(
                try await world.collection("MenuData").countDocuments([
                    "agency": ["$in": .array(names.map { .string($0) })]
                ]) == 8)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, name) in names.enumerated() {
                    group.addTask {
                        for isShared in index % 2 == 0 ? [true] : [true, false, true] {
                            try await world.call(
                                "setPartner",
                                [
                                    [
                                        "agency": .string(Self.galapagos), "partner": .string(name),
                                        "isShared": .bool(isShared),
                                    ]
                                ],
                                user: index < 4 ? Self.gala : Self.chief)
                        }
                    }
                }
                try await group.waitForAll()
            }
            let agency = try await world.collection("Agency").findOne(["name": .string(Self.galapagos)])
            #expect(agency?["partners"]?.arrayValue?.compactMap(\.stringValue).sorted() == names)
        }
    }

    // MARK: Figures

    @Test func `the search has the words that it found, and counts by risk, agency and flag`() async throws {
        try await Self.with { world in
            let answer = try await world.call("searchReports", [["query": "shark"]], user: Self.otto)
            #expect(answer["total"]?.intValue == 3)
            let first = answer["reports"]?.arrayValue?.first
            let texts = first?["highlights"]?.arrayValue?.flatMap { $0["texts"]?.arrayValue ?? [] } ?? []
            #expect(texts.contains { $0["type"] == "hit" && $0["value"]?.stringValue?.lowercased() == "shark" })
            #expect(answer["facets"]?["risk"] == [["value": "red", "count": answer["total"] ?? .null]])
            let koror = try await world.call("searchReports", [["query": "Koror"]], user: Self.otto)
            #expect(koror["facets"]?["agency"]?.arrayValue?.first?["value"] == .string(Self.palau))
            let amber = try await world.call("searchReports", [["query": "lobster", "risk": "amber"]], user: Self.gala)
            #expect((amber["total"]?.intValue ?? 0) > 0)
            #expect(amber["facets"]?["risk"]?.arrayValue?.map { $0["value"] } == ["amber"])
        }
    }

    @Test func `pages neither repeat nor miss a report, also while others arrive`() async throws {
        try await Self.with { world in
            var seen: [Value] = [], after: Value = .null
            repeat {
                let page = try await world.call("listReports", [["after": after, "pageSize": 3]], user: Self.otto)
                seen += page["reports"]?.arrayValue?.compactMap { $0["_id"] } ?? []
                after = page["next"] ?? .null
                _ = try await world.collection("BoardingReports").insertOne(report(ObjectId()))
            } while after != .null
            let older = try await world.collection("BoardingReports").find([
                "timestamp": ["$lt": .date(1_800_000_000_000)]
            ])
            #expect(seen.count == 14 && Set(seen.map { "\($0)" }) == Set(older.map { "\($0["_id"] ?? .null)" }))
        }
    }

    @Test func `the dashboard's figures are those of the reports that the user may read`() async throws {
        try await Self.with { world in
            let span: Document = ["from": .date(1_760_000_000_000), "to": .date(1_850_000_000_000)]
            for (user, agencies) in [(Self.otto, [Self.galapagos, Self.palau]), (Self.pela, [Self.palau])] {
                let figures = try await world.call("dashboard", [.document(span)], user: user)
                let reports = try await world.collection("BoardingReports").find([
                    "agency": ["$in": .array(agencies.map { .string($0) })]
                ])
                let violations = reports.map { $0["inspection"]?["violations"]?.arrayValue?.count ?? 0 }
                #expect(figures["boardings"]?.intValue.map { Int($0) } == reports.count)
                #expect(figures["violations"]?.intValue.map { Int($0) } == violations.reduce(0, +))
                #expect(figures["withViolations"]?.intValue.map { Int($0) } == violations.count { $0 > 0 })
                let months = figures["months"]?.arrayValue?.compactMap { $0["boardings"]?.intValue } ?? []
                #expect(Int(months.reduce(0, +)) == reports.count)
            }
            let figures = try await world.call("dashboard", [.document(span)], user: Self.gala)
            #expect(figures["onDuty"] == ["otto@ofish.example"])
        }
    }
}

extension Document {
    /// With the other's fields, which replace those of the same names.
    fileprivate func merging(_ other: Document) -> Document {
        var merged = self
        for field in other.fields { merged[field.key] = field.value }
        return merged
    }
}
