"""Pictures that are drawn on demand, with matplotlib where it is installed."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from skipchain.extras import install_command

SOFTWARE = "skipchain"  # by which a picture is known as ours


@dataclass(frozen=True, slots=True)
class Picture:
    """A plot that is drawn on demand: ``draw`` is called with a matplotlib figure."""

    name: str
    caption: str
    draw: Callable[[Any], None]
    size: tuple[float, float] = (8.0, 4.5)

    def _repr_png_(self) -> bytes | None:
        """The picture in a notebook; without matplotlib only its caption is shown."""
        return png(self) if matplotlib_available() else None


def matplotlib_available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def install_hint() -> str:
    """What to do where it is not."""
    return f"pictures need matplotlib: {install_command('plot')}"


def png(picture: Picture) -> bytes:
    """The picture as the bytes of a PNG file, drawn without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=picture.size, layout="constrained")
    FigureCanvasAgg(figure)
    picture.draw(figure)
    data = io.BytesIO()
    figure.savefig(data, format="png", dpi=120, metadata={"Software": SOFTWARE})
    return data.getvalue()
