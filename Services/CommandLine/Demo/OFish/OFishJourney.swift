import DocumentModel
import Foundation
import PartitaClient

/// The journey of `ofish`: two agencies and their officers, a boarding at sea, a search, and an officer who leaves.
struct OFishJourney: Sendable {
    let stage: DemoStage
    private var check: DemoCheck {
        DemoCheck(stage: stage, database: "ofish", collections: ["BoardingReports", "Photo", "DutyChange", "MenuData"])
    }
    private var isla: String { "Isla \(stage.run)" }
    private var costa: String { "Costa \(stage.run)" }

    func play() async throws {
        stage.scene("The global admin of the sample data creates two agencies, and admits an admin to each")
        let chief = try await stage.signIn("chief", "chief@ofish.example")
        let ana = try await stage.register("ana"), bo = try await stage.register("bo"),
            cy = try await stage.register("cy")
        try await ana.isRefused("profile")
        for agency in [isla, costa] { try await chief.call("createAgency", .string(agency)) }
        for (admin, agency) in [(ana, isla), (cy, costa)] {
            try await admit(admin, to: agency, isAdmin: true, by: chief)
        }
        try await admit(bo, to: isla, by: ana)
        try await cy.isRefused("setMember", ["email": .string(bo.email), "agency": .string(costa)])

        stage.scene("Ana and Bo open their agency; Bo goes on duty")
        let anas = try await ana.open(isla), bos = try await bo.open(isla)
        try await ana.call(
            "saveMenu", ["agency": .string(isla), "species": ["tuna", "lobster"], "offences": ["no permit"]])
        try await bo.sees("the agency's menus", in: bos, "MenuData", ["species": "lobster"])
        try await bos.write { $0.insert("DutyChange", duty(of: bo)) }
        try await ana.sees("Bo on duty", in: anas, "DutyChange", ["status": "onDuty"])

        stage.scene("Bo boards a vessel out of reach of any network, and takes a photo of 2 MB")
        let report = ObjectId()
        let photo = try await board(report, bo, bos, seenBy: ana, anas)

        stage.scene("Both add to the crew of the report while offline")
        try await crewScene(report, [(ana, anas), (bo, bos)])

        stage.scene("Cy, of the other agency, tries to read; then Ana shares her agency's reports, and ends that")
        try await sharingScene(report, photo, ana, cy)

        stage.scene("Ana searches, and looks at her figures")
        try await figuresScene(ana, cy)

        stage.scene("The report is deleted, and its photo with it")
        try await deletionScene(report, photo, ana, anas, bos)

        stage.scene("Ana dismisses Bo")
        let start = ContinuousClock.now
        try await ana.call("setMember", ["email": .string(bo.email), "agency": .string(isla), "isActive": false])
        try await bo.loses(bos, "MenuData", since: start)
        try await bo.isRefused("listReports")

        stage.scene("Every device has what Postgres has")
        try await check.compare([(ana, anas), (cy, try await cy.open(costa))])
        for person in [chief, ana, bo, cy] { try await person.close() }
    }

    private func admit(
        _ person: DemoPerson, to agency: String, isAdmin: Bool = false, by admin: DemoPerson
    ) async throws {
        // A trigger makes the account's User document.
        try await eventually("\(person.name) can be admitted") { () -> Bool? in
            do {
                try await admin.call(
                    "setMember",
                    ["email": .string(person.email), "agency": .string(agency), "isAdmin": .bool(isAdmin)])
                return true
            } catch let error as PartitaError where error.message.contains("there is no account") {
                return nil
            }
        }
        person.say("is admitted to \(agency)\(isAdmin ? ", as an admin" : "")")
    }

    private func duty(of person: DemoPerson) -> Document {
        [
            "_id": .objectId(ObjectId()), "agency": .string(isla), "date": .date(WallClock.system.now()),
            "status": "onDuty", "user": ["email": .string(person.email), "name": .string(person.name)],
        ]
    }

    /// A report with a photo, written offline.
    /// - Returns: the photo's link, and its document's id.
    private func board(
        _ report: ObjectId, _ bo: DemoPerson, _ bos: PartitionHandle, seenBy ana: DemoPerson, _ anas: PartitionHandle
    ) async throws -> (link: String, id: ObjectId) {
        let picture = DemoPicture.bytes(), photo = ObjectId()
        await bo.session.goOffline()
        try await bos.write {
            $0.insert(
                "BoardingReports",
                [
                    "_id": .objectId(report), "agency": .string(isla), "timestamp": .date(WallClock.system.now()),
                    "location": [-90.3, -0.7], "reportingOfficer": ["email": .string(bo.email), "name": "Bo"],
                    "vessel": [
                        "name": "Night Heron", "permitNumber": "P-1", "homePort": "Baltra", "nationality": "Ecuador",
                    ],
                    "captain": ["name": "E. Vera", "license": "C-7"], "crew": [],
                    "catch": [["species": "lobster", "weight": 41.5, "count": .int64(60)]],
                    "inspection": [
                        "activity": "fishing",
                        "violations": [["code": "P1", "offence": "no permit", "disposition": "citation"]],
                    ],
                    "risk": ["level": "red", "reason": "no permit"],
                    "notes": [["text": "Lobster pots under a tarpaulin", "photoIDs": [.objectId(photo)]]],
                ])
            $0.insert(
                "Photo",
                [
                    "_id": .objectId(photo), "agency": .string(isla), "referencingReportID": .objectId(report),
                    "picture": .binary(Binary(picture)),
                ])
        }
        bo.say("has the report and its photo on the device")
        await bo.session.goOnline()
        try await ana.sees("the report", in: anas, "BoardingReports", ["_id": .objectId(report), "risk.level": "red"])
        let document = try await ana.sees(
            "the photo as a link, with a thumbnail", in: anas, "Photo",
            [
                "_id": .objectId(photo), "pictureURL": ["$exists": true], "thumbnail": ["$exists": true],
                "picture": ["$exists": false],
            ])
        let link = document["pictureURL"]?.stringValue ?? ""
        let answer = try await ana.fetch(link)
        guard answer.status == 200, answer.body == picture else {
            throw DemoFailure(description: "the link gave \(answer.status) and \(answer.body.count) bytes")
        }
        ana.say("opens the link: \(answer.body.count) bytes, the same")
        return (link, photo)
    }

    private func crewScene(_ report: ObjectId, _ officers: [(DemoPerson, PartitionHandle)]) async throws {
        for (person, _) in officers { await person.session.goOffline() }
        for (person, handle) in officers {
            try await handle.write {
                $0.update(
                    "BoardingReports", id: .objectId(report),
                    ["$push": ["crew": ["name": .string("by \(person.name)")]]])
            }
        }
        for (person, _) in officers { await person.session.goOnline() }
        for (person, handle) in officers {
            try await person.sees(
                "both members of the crew", in: handle, "BoardingReports",
                ["_id": .objectId(report), "crew.name": ["$all": ["by ana", "by bo"]]])
        }
    }

    private func sharingScene(
        _ report: ObjectId, _ photo: (link: String, id: ObjectId), _ ana: DemoPerson, _ cy: DemoPerson
    ) async throws {
        try await cy.isShutOut(of: isla)
        try await cy.isRefused("reportDetails", .objectId(report))
        let answer = try await cy.fetch(photo.link)
        guard answer.status == 404 else { throw DemoFailure(description: "the link gave a stranger \(answer.status)") }
        cy.say("can't open the photo's link (404)")

        var sharing: Document = ["agency": .string(isla), "partner": .string(costa), "isShared": true]
        try await cy.isRefused("setPartner", .document(sharing))
        try await ana.call("setPartner", .document(sharing))
        let cys = try await cy.open(isla)
        try await cy.sees("the report", in: cys, "BoardingReports", ["_id": .objectId(report)])
        guard try await cy.call("reportDetails", .objectId(report))["photos"]?.arrayValue?.count == 1 else {
            throw DemoFailure(description: "Cy can't read the report's photo")
        }
        try await cys.write { $0.update("BoardingReports", id: .objectId(report), ["$set": ["risk.level": "green"]]) }
        try await eventually("Cy's write is rejected") { try await cys.rejected().first }
        cy.say("may read, and not write: the change is rejected")

        let start = ContinuousClock.now
        sharing["isShared"] = false
        try await ana.call("setPartner", .document(sharing))
        try await cy.loses(cys, "BoardingReports", since: start)
    }

    private func figuresScene(_ ana: DemoPerson, _ cy: DemoPerson) async throws {
        let found = try await ana.call("searchReports", ["query": "tarpaulin"])
        guard found["total"]?.intValue == 1, found["facets"]?["risk"]?.arrayValue?.first?["value"] == "red" else {
            throw DemoFailure(description: "the search found \(ExtendedJSON.print(found))")
        }
        let texts = found["reports"]?.arrayValue?.first?["highlights"]?.arrayValue?.first?["texts"]?.arrayValue ?? []
        let marked = texts.map {
            $0["type"] == "hit" ? "[\($0["value"]?.stringValue ?? "")]" : $0["value"]?.stringValue ?? ""
        }
        ana.say("finds “\(marked.joined())”")
        guard try await cy.call("searchReports", ["query": "tarpaulin"])["total"]?.intValue == 0 else {
            throw DemoFailure(description: "Cy finds another agency's report")
        }
        cy.say("finds nothing")
        let figures = try await ana.call("dashboard")
        guard figures["boardings"]?.intValue == 1, figures["onDuty"]?.arrayValue?.count == 1 else {
            throw DemoFailure(description: "the figures are \(ExtendedJSON.print(figures))")
        }
        ana.say("sees 1 boarding with \(figures["violations"]?.intValue ?? 0) violation, and 1 officer on duty")
        try await ana.isRefused("searchReports", ["query": ["$ne": ""]])
    }

    private func deletionScene(
        _ report: ObjectId, _ photo: (link: String, id: ObjectId), _ ana: DemoPerson, _ anas: PartitionHandle,
        _ bos: PartitionHandle
    ) async throws {
        try await bos.write { $0.delete("BoardingReports", id: .objectId(report)) }
        for (collection, id) in [("BoardingReports", report), ("Photo", photo.id)] {
            try await eventually("Ana's device has lost it") {
                try await anas.document(collection, id: .objectId(id)) == nil ? true : nil
            }
        }
        ana.say("has neither the report nor its photo any more")
        try await eventually("the photo's link is dead") { try await ana.fetch(photo.link).status == 404 ? true : nil }
        ana.say("can't open the photo's link any more")
    }
}
