import DocumentModel
import Foundation
import PartitaClient
import TestSupport
import Testing

extension EndToEnd {
    struct TeamworkTests {
        private static let wim = "0000beef0000000000000002"

        /// A manager's page and a worker's, each following what the other does.
        @Test func `the pages of a manager and of a worker follow each other, and a change of the role counts at once`()
            async throws
        {
            let system = try await RunningSystem.shared()
            try await AppUse.addSample("teamwork", on: system)
            let manager = try await Browser.open("teamwork/web/", on: system)
            try await manager.signIn("mia@teamwork.example")
            try await manager.wait("all jobs are there", for: "document.querySelectorAll('#jobs li').length >= 4")
            try await manager.wait(
                "the workers are on the map", for: "document.querySelector('circle[data-worker=\"\(Self.wim)\"]')")
            let worker = try await Browser.open("teamwork/web/", on: system)
            try await worker.signIn("wim@teamwork.example")
            let lamp = "document.querySelector('[data-job=\"0000bee20000000000000003\"]')"
            try await worker.wait(
                "the jobs of the north are there", for: "document.querySelectorAll('#jobs li').length >= 2 && \(lamp)")

            // Planned on one page, done on the other.
            let title = "Job of \(UUID().uuidString.prefix(8))"
            try await manager.wait(
                "the teams are there", for: "document.querySelector('#plan').team.options.length > 2")
            try await manager.evaluate(
                "{ const form = document.querySelector('#plan'); form.elements.title.value = '\(title)'; form.team.value = 'north'; form.requestSubmit(); }"
            )
            let row = "[...document.querySelectorAll('#jobs li')].find((row) => row.innerText.includes('\(title)'))"
            try await worker.wait("the new job is there", for: row)
            try await worker.evaluate(
                "[...\(row).querySelectorAll('button')].find((button) => button.innerText === 'begun').click()")
            try await manager.wait(
                "the manager sees that it is begun", for: "\(row)?.innerText.includes('begun by wim')")

            // Wim's device moves.
            let wim = try await AppUser.signIn("wim@teamwork.example", to: "teamwork", on: system)
            let place = try await wim.session.openPartition(.string("location=\(Self.wim)"), waitForFirstSync: true)
            let id = try #require(try await place.find("Location").first?["_id"])
            try await place.write { $0.update("Location", id: id, ["$set": ["location.longitude": 13.5]]) }
            try await manager.wait(
                "the map follows",
                for:
                    "Math.abs(document.querySelector('circle[data-worker=\"\(Self.wim)\"]').getAttribute('cx') - 270) < 0.01"
            )
            try await manager.screenshot("teamwork")

            // Another team, by the manager's page: the worker's page shows that team's jobs.
            func choose(_ choice: String) async throws {
                let select = "document.querySelector('[data-user=\"\(Self.wim)\"] select')"
                try await manager.wait(
                    "\(choice) can be chosen",
                    for: "[...\(select).options].some((option) => option.value === '\(choice)')")
                try await manager.evaluate(
                    "{ const select = \(select); select.value = '\(choice)'; select.dataset.asked = 1; select.dispatchEvent(new Event('change')); }"
                )
                // As a person would: the next choice only when the page shows this one, which it does by a trigger's document.
                try await manager.wait(
                    "\(choice) is chosen", for: "!\(select).dataset.asked && \(select).value === '\(choice)'")
            }
            let start = ContinuousClock.now
            try await choose("worker south")
            try await worker.wait(
                "the jobs of the north are gone, those of the south are there",
                for: "!\(lamp) && !\(row) && document.querySelector('[data-job=\"0000bee20000000000000002\"]')")
            print(
                "a worker's page showed another team's jobs after \((ContinuousClock.now - start).formatted(.units(allowed: [.milliseconds])))"
            )
            try await choose("none")
            try await worker.wait("nothing is left", for: "document.querySelectorAll('#jobs li').length === 0")
            try await choose("worker north")
            try await worker.wait("the jobs of the north are back", for: lamp)
            try await wim.close()
            manager.close()
            worker.close()
        }
    }
}
