-- GitHub's clock minus ours in microseconds, as the last sweep measured it, so that commands judge
-- by the same clocks as the sweep. NULL: never measured.

ALTER TABLE hooks ADD COLUMN clock_offset_us INTEGER;
