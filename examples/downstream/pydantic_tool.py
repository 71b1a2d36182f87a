"""A launch budget, checked with pydantic: the records as fields of a downstream model.

python examples/downstream/pydantic_tool.py schema                 the model's JSON Schema
python examples/downstream/pydantic_tool.py make DUMP > budget     a budget from the first kernel of a dump
python examples/downstream/pydantic_tool.py check < budget         every fault of a budget, with its place
"""

import json
import sys

from pydantic import BaseModel, Field, ValidationError

import sigcontract as sc


class LaunchBudget(BaseModel):
    """What one kernel may use; ``kernel`` has the type, the bounds and the strictness of the contract."""

    owner: str
    max_blocks: int = Field(gt=0)
    kernel: sc.KernelNodeSignature
    seen_in: sc.SignatureDump | None = None

    @property
    def kept(self) -> bool:
        """Whether the kernel stays within the budget."""
        grid = self.kernel.grid_dim
        return grid.x * grid.y * grid.z <= self.max_blocks


def budget_of(dump: sc.SignatureDump) -> LaunchBudget:
    """Return a budget that the first kernel of the dump keeps."""
    kernel = next(node for entry in dump.graphs for node in entry.graph.kernel_nodes)
    grid = kernel.grid_dim
    return LaunchBudget(owner="example", max_blocks=grid.x * grid.y * grid.z, kernel=kernel)


def main() -> None:
    """Run one of the three commands."""
    match sys.argv[1:]:
        case ["schema"]:
            print(json.dumps(LaunchBudget.model_json_schema(), indent=2))
        case ["make", path]:
            print(budget_of(sc.load(path, expect=sc.SignatureDump)).model_dump_json(indent=2))
        case ["check"]:
            try:
                budget = LaunchBudget.model_validate_json(sys.stdin.read())
            except ValidationError as error:
                for fault in error.errors():
                    print(".".join(map(str, fault["loc"])), fault["msg"], sep=": ")
                sys.exit(1)
            print("kept" if budget.kept else "exceeded", budget.kernel.name)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
